"""Tells gateways, through the registry, what this worker can do."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Literal

import legato
from legato.bus.base import Registry
from legato.bus.records import (
    ENGINE_KIND,
    TENANT,
    EngineLoad,
    EngineRecord,
    ProcessRecord,
    VoiceRecord,
    encode_engine,
    engine_record_name,
)
from legato.engines.base import EngineKind
from legato.errors import BusUnavailable, Overloaded
from legato.telemetry.logs import logger
from legato.worker.config import WorkerConfig
from legato.worker.pool import EnginePool, PoolState

log = logger("legato.worker.announcement")


class Announcement:
    """Keeps the records of all engines fresh.

    Records of a worker that ends run out by themselves: another worker may hold them up.

    Args:
        registry: Of the bus.
        pools: The worker's engines, in order of preference.
        config: For defaults and intervals.
    """

    def __init__(
        self, registry: Registry, pools: Sequence[EnginePool], config: WorkerConfig
    ) -> None:
        self._registry = registry
        self._pools = pools
        self._config = config
        self._changed = asyncio.Event()

    def records(self) -> list[EngineRecord]:
        """Return what is announced now."""
        defaults = {
            self._default(EngineKind.SYNTHESIZE, self._config.synthesizers),
            self._default(EngineKind.RECOGNIZE, self._config.recognizers),
        }
        return [
            record_of(pool, default=pool in defaults, order=order)
            for order, pool in enumerate(self._pools)
        ]

    def changed(self) -> None:
        """Have the records written at once."""
        self._changed.set()

    async def run(self) -> None:
        """Write the records for ever: when something changed, and before they run out."""
        while True:
            self._changed.clear()
            try:
                await self.publish()
            except (BusUnavailable, Overloaded) as error:
                log.warning("engines could not be announced", code=error.code)
            try:
                async with asyncio.timeout(self._config.announce_every):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def publish(self) -> None:
        """Write all records once."""
        for record in self.records():
            await self._registry.put(
                TENANT,
                ENGINE_KIND,
                engine_record_name(record.kind, record.name),
                encode_engine(record),
                ttl=self._config.record_ttl,
            )

    def _default(self, kind: EngineKind, names: Sequence[str]) -> EnginePool | None:
        """Return the first that can be used; if none can, the first, for its reason."""
        pools = [
            pool
            for name in names
            for pool in self._pools
            if pool.spec.kind is kind and pool.spec.name == name
        ]
        usable = [pool for pool in pools if pool.state is not PoolState.UNAVAILABLE]
        return next(iter(usable or pools), None)


def record_of(pool: EnginePool, *, default: bool, order: int = 0) -> EngineRecord:
    """Return the record of an engine; `order` is its place among the worker's."""
    info = pool.info
    record = EngineRecord(
        kind=pool.spec.kind.value,
        name=pool.spec.name,
        slots=pool.slots,
        state=pool.state.value,
        reason=pool.reason,
        default=default,
        order=order,
    )
    if info is None:
        return record
    return EngineRecord(
        kind=record.kind,
        name=record.name,
        version=info.version,
        sample_rate=None if info.format is None else info.format.sample_rate,
        languages=info.languages,
        scripts=tuple(sorted(script.value for script in info.scripts)),
        voices=tuple(
            VoiceRecord(
                name=voice.name,
                engine=voice.engine,
                languages=voice.languages,
                gender=voice.gender,
                description=voice.description,
            )
            for voice in info.voices
        ),
        slots=record.slots,
        deterministic=info.deterministic,
        state=record.state,
        reason=record.reason,
        default=record.default,
        order=record.order,
        abilities=tuple(sorted(info.abilities)),
    )


def describe(
    name: str,
    state: Literal["loading", "ready", "draining"],
    *,
    started: float,
    loop_lag: float,
    streams: int,
    pools: Sequence[EnginePool],
) -> ProcessRecord:
    """Return how this worker is.

    Args:
        name: It holds its leases under that.
        state: Whether it takes streams.
        started: Unix time in seconds.
        loop_lag: Seconds by which its event loop was late.
        streams: Those that it has.
        pools: Its engines.
    """
    return ProcessRecord(
        role="worker",
        name=name,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=legato.__version__,
        state=state,
        started=started,
        loop_lag=loop_lag,
        streams=streams,
        engines=tuple(
            EngineLoad(
                kind=pool.spec.kind.value,
                name=pool.spec.name,
                state=pool.state.value,
                busy=pool.busy,
                slots=pool.slots,
                waiting=pool.waiting,
                hold=round(pool.measure.hold, 4),
                oldest=round(pool.oldest, 4),
                cost=round(pool.measure.cost, 4),
            )
            for pool in pools
        ),
    )
