"""Why a stream is gone: deleted, past its time, or lost by Redis.

Deletion leaves a tombstone, and a stream that outlives its time leaves a trace in the same place,
for 300 s. Whoever has seen a stream and finds neither knows that Redis has lost it: it came back
empty or with less, was flushed, or failed over to a replica that lagged behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from legato.bus.base import StreamKey
from legato.bus.redis.call import Call, Outcome
from legato.bus.redis.faults import translate
from legato.bus.redis.keys import StreamKeys
from legato.bus.redis.link import ReplyError
from legato.bus.redis.servers import Servers
from legato.bus.redis.view import gone
from legato.errors import EpochChanged, LegatoError

TRACE: Final = 300.0
"""Seconds that a trace outlives its stream, and a tombstone stands."""

CERTAIN: Final = 0.9 * TRACE
"""Seconds since a stream was seen after which what is missing proves nothing: both may have ended
(clocks of two machines may differ in how fast they run)."""


def find_out(
    servers: Servers,
    keys: StreamKeys,
    key: StreamKey,
    *,
    seen_at: float,
    told: Callable[[LegatoError], None],
) -> None:
    """Find out why a stream is gone that was seen at `seen_at`, by the loop's clock.

    Args:
        servers: Where it was.
        keys: Of the stream.
        key: The stream.
        seen_at: When it was last there.
        told: Takes `EpochChanged` if Redis has lost it, `SessionExpired` if not or if that cannot
            be known, or what kept us from asking.
    """

    def done(outcome: Outcome) -> None:
        if isinstance(outcome, LegatoError):
            told(outcome)
        elif isinstance(outcome[0], ReplyError):
            told(translate(outcome[0]))
        elif outcome[0] == 0 and asyncio.get_running_loop().time() - seen_at < CERTAIN:
            told(EpochChanged(f"Redis has lost stream {key.stream_id!r}: it came back without it"))
        else:
            told(gone(key))

    servers.submit(Call(keys.tombstone, [("EXISTS", keys.tombstone)], done))
