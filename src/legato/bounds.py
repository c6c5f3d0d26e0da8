"""What numbers settings may have, alone and beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Bound:
    """The least and the greatest value, both allowed."""

    least: float
    most: float

    def admits(self, value: float) -> bool:
        """Whether `value` lies within; NaN does not."""
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Relation:
    """One setting that another bounds.

    Attributes:
        name: Of the setting.
        times: The greatest value, in multiples of the other.
        other: Name of the other.
        why: What would go wrong.
        is_said: Whether only a value that somebody has set is checked, and a default gives way.
    """

    name: str
    times: float
    other: str
    why: str
    is_said: bool = False


DAY: Final = 86_400

WAIT: Final = Bound(0.1, DAY)
"""Seconds until a wait has failed: with less, nothing would be waited for."""

PAUSE: Final = Bound(0.01, DAY)
"""Seconds between two turns: without any, there would be no rest."""

LEISURE: Final = Bound(0, DAY)
"""Seconds that may be none."""

COUNT: Final = Bound(1, 1_000_000)

BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {
        "gateway.port": Bound(0, 65_535),
        "gateway.resume_window": LEISURE,
        # Below, some message of a well-behaved client would not pass: 1,000 characters, or a frame.
        "gateway.max_message_bytes": Bound(16_384, 16_777_216),
        "gateway.max_connections": COUNT,
        "gateway.max_streams": Bound(1, 65_536),
        "gateway.max_text_chars": COUNT,
        "gateway.header_timeout": WAIT,
        "gateway.idle_timeout": WAIT,
        "gateway.slow_timeout": WAIT,
        "gateway.max_wait": LEISURE,
        "gateway.worker_wait": WAIT,
        "gateway.drain_timeout": LEISURE,
        "gateway.heartbeat_idle": WAIT,
        "gateway.heartbeat_active": WAIT,
        "gateway.max_voices": Bound(0, 1_000),
        "gateway.janitor_every": WAIT,
        "worker.echo_slots": COUNT,
        "worker.max_streams": COUNT,
        "worker.idle_release": WAIT,
        "worker.engine_timeout": WAIT,
        "worker.load_timeout": WAIT,
        "worker.slot_timeout": WAIT,
        "worker.recycle_after": COUNT,
        "worker.recycle_jitter": Bound(0, 1_000_000),
        "worker.restart_after": COUNT,
        "worker.restart_delay": PAUSE,
        "worker.max_restart_delay": PAUSE,
        "worker.max_redos": Bound(0, 100),
        "worker.max_deliveries": Bound(1, 100),
        "worker.lease": WAIT,
        "worker.renew_every": PAUSE,
        "worker.claim_wait": PAUSE,
        "worker.claim_pause": PAUSE,
        "worker.announce_every": PAUSE,
        "worker.record_ttl": WAIT,
        "worker.max_text_chars": COUNT,
        "worker.cache_bytes": Bound(0, 1 << 40),
        "client.pool_size": Bound(1, 1_024),
        "client.connect_timeout": WAIT,
        "client.write_buffer_bytes": Bound(1_024, 16_777_216),
        "client.rate": Bound(0.01, 10_000),
        "client.burst": Bound(0.01, 3_600),
        "models.parallel": Bound(1, 32),
        "models.timeout": WAIT,
        "models.tries": Bound(1, 1_000),
        "metrics.port": Bound(0, 65_535),
    }
)
"""Of every setting that is a number."""

ENGINE_BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {"processes": Bound(1, 256), "slots": Bound(1, 65_536), "unload_after": Bound(1.0, 604_800.0)}
)
"""Of the numbers of each item of `worker.engines`."""

RELATIONS: Final = (
    Relation("worker.renew_every", 0.5, "worker.lease", "jobs would change hands for nothing"),
    Relation("worker.announce_every", 0.5, "worker.record_ttl", "engines would vanish meanwhile"),
    Relation("worker.restart_delay", 1, "worker.max_restart_delay", "it is its bound"),
    Relation(
        "worker.recycle_jitter",
        1,
        "worker.recycle_after",
        "some processes would be replaced before their first call",
        is_said=True,
    ),
    Relation(
        "worker.recycle_jitter",
        1,
        "worker.restart_after",
        "some workers would end before their first stream",
        is_said=True,
    ),
    Relation("gateway.heartbeat_idle", 0.5, "gateway.idle_timeout", "clients would be dropped"),
    Relation("gateway.heartbeat_active", 0.5, "gateway.idle_timeout", "clients would be dropped"),
)
"""Settings that bound others."""
