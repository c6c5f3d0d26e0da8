"""All hosts of one engine: started, replaced when they die, and chosen for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import Final

from legato.engines.base import EngineInfo, EngineKind
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, Overloaded
from legato.telemetry.logs import logger
from legato.telemetry.metrics import ENGINE_LOSSES, ENGINE_PROCESSES
from legato.worker.calls import EngineCall, EngineLost, EngineRefused, Request
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.inline import InlineHost
from legato.worker.line import ANYONE, Queued, WaitingLine, untold
from legato.worker.measure import SlotMeasure
from legato.worker.process import EngineProcess
from legato.worker.template import template_for
from legato.worker.tenure import Host, Tenure
from legato.worker.turns import PATIENCE, Caller
from legato.worker.wear import Uses

EXPECTED_HOLD: Final[Mapping[EngineKind, float]] = MappingProxyType(
    {EngineKind.SYNTHESIZE: 1.0, EngineKind.RECOGNIZE: 30.0}
)
"""Seconds that a call needs its slot, until it has been measured: one sentence is spoken in a
moment, but somebody who talks goes on for a while."""

RETIREMENT: Final = 600.0
"""Seconds that the calls of a replaced process may take to end; those left go on in another."""

STEADY: Final = 60.0
"""Seconds that a process must live for its death to count as the first in a row."""

log = logger("legato.worker.pool")


class PoolState(StrEnum):
    """Whether an engine can be used."""

    LOADING = "loading"
    READY = "ready"
    UNAVAILABLE = "unavailable"


class EnginePool:
    """One engine of a worker.

    Args:
        spec: Which engine, and how many processes.
        config: For the time-outs.
        listing: What the registry knows of it; None if it does not stand there.
        changed: Called when `state` or `slots` change.

    Attributes:
        info: What it says of itself, once known.
        reason: Why it is unavailable, and what to do.
        add_command: What the user types to add it, where it says so.
        measure: What its slots are good for.
    """

    def __init__(
        self,
        spec: EngineSpec,
        config: WorkerConfig,
        listing: Listing | None,
        changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.info = None if listing is None else listing.info
        self.add_command = None if listing is None else listing.add_command
        self.reason = None if listing is None else listing.missing
        self._config = config
        self._changed = changed
        self._tenures: list[Tenure] = []
        self._retiring: list[Tenure] = []
        self._rng = Random()  # noqa: S311  (no secret)
        self._line = WaitingLine()
        self._template = template_for(spec, config)
        self.measure = SlotMeasure(EXPECTED_HOLD[spec.kind])
        self._settled = asyncio.Event()
        self._ready = asyncio.Event()
        if self.reason is not None:
            self._settled.set()

    @property
    def state(self) -> PoolState:
        """Whether calls can be opened; an engine that is being replaced is still ready."""
        if self.reason is not None:
            return PoolState.UNAVAILABLE
        return PoolState.READY if self._ready.is_set() else PoolState.LOADING

    @property
    def slots(self) -> int:
        """Streams that it serves at once, 0 until it is ready."""
        if self.info is None or self.state is not PoolState.READY:
            return 0
        each = min(self.info.slots, self.spec.slots or self.info.slots)
        return each * self._host_count

    @property
    def _host_count(self) -> int:
        inline = self.info is not None and self.info.inline and self.spec.target is None
        return 1 if inline else self.spec.processes

    @property
    def has_free_slot(self) -> bool:
        """Whether a call would be opened without a wait."""
        return not self._line and any(tenure.calls.free for tenure in self._tenures)

    @property
    def busy(self) -> int:
        """Slots that calls have taken; a host that is being replaced soon offers all of its own."""
        return sum(len(tenure.calls) for tenure in self._tenures)

    async def settled(self) -> None:
        """Wait until the engine is ready, or known to be unavailable."""
        await self._settled.wait()

    async def ready(self) -> None:
        """Wait until the engine has been ready once."""
        await self._ready.wait()

    async def run(self) -> None:
        """Keep the hosts alive, for as long as the engine can be used."""
        if self.reason is not None:
            # No warning: the engines of the default list need not all be installed.
            log.info("engine unavailable", engine=self.spec.name, reason=self.reason)
            return
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._host_count):
                    group.create_task(self._keep())
        finally:
            if self._template is not None:
                await self._template.stop()

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return len(self._line)

    @property
    def is_pressed(self) -> bool:
        """Whether somebody has waited for so long that a call should end where it can."""
        return self._line.longest >= PATIENCE

    @property
    def oldest(self) -> float:
        """Seconds for which the call that has gone on for longest has had its slot."""
        return max((age for tenure in self._tenures for age in tenure.calls.ages()), default=0.0)

    async def open(
        self, request: Request, *, caller: Caller = ANYONE, queued: Queued = untold
    ) -> EngineCall:
        """Begin a call on the host with most free slots, waiting for its turn if need be.

        Args:
            request: What to do.
            caller: For whom; decides who comes first.
            queued: Told of the call's place while it waits.

        Raises:
            EngineUnavailable: If the engine cannot be used, or was not restarted in time.
            Overloaded: If the line did not move for too long.
        """

        def attempt() -> EngineCall | None:
            if self.reason is not None:
                raise EngineUnavailable(self.reason)
            tenure = max(self._tenures, key=lambda tenure: tenure.calls.free, default=None)
            return tenure.open(request) if tenure is not None and tenure.calls.free else None

        patience = self._config.slot_timeout
        try:
            return await self._line.stand(attempt, caller=caller, patience=patience, queued=queued)
        except TimeoutError as error:
            if not self._tenures:
                raise EngineUnavailable(
                    f"{self.spec.name} is being restarted", retry_after=patience
                ) from error
            raise Overloaded(
                f"{self.spec.name} had no free slot for {patience:g} s", retry_after=patience
            ) from error

    def _wake(self) -> None:
        self._line.wake()

    def _freed(self, held: float) -> None:
        self.measure.note_hold(held)
        for tenure in self._retiring:
            tenure.look()
        self._wake()

    def _make_host(self) -> Host:
        if self.info is not None and self.info.inline and self.spec.target is None:
            return InlineHost(self.spec, self._config, freed=self._freed)
        return EngineProcess(self.spec, self._config, freed=self._freed, template=self._template)

    async def _keep(self) -> None:
        """Keep one process alive: replace it when it is lost, and before it is worn out."""
        failures, loop = 0, asyncio.get_running_loop()
        worn: Tenure | None = None
        async with asyncio.TaskGroup() as group:
            while True:
                began, host = loop.time(), self._make_host()
                try:
                    self.info = await host.start()
                except EngineRefused as error:
                    self._become_unavailable(error.message, error.info)
                    return
                except EngineLost as error:
                    self._note_not_started(error)
                else:
                    if worn is not None:
                        worn.replaced.set()
                    worn = tenure = Tenure(host, self._uses(host))
                    if await tenure.is_worn(group.create_task(self._serve(tenure))):
                        failures = 0
                        continue  # the next is loaded beside it, and takes over then
                    worn = None
                failures = failures + 1 if loop.time() - began < STEADY else 1
                await asyncio.sleep(self._delay(failures))

    def _uses(self, host: Host) -> Uses:
        lasts = isinstance(host, InlineHost)
        limit = None if lasts else self._config.recycle_after
        return Uses(limit, self._config.recycle_jitter, self._rng)

    def _note_not_started(self, error: EngineLost) -> None:
        log.warning("engine process did not start", engine=self.spec.name, why=str(error))
        ENGINE_LOSSES.labels(self.spec.name, "load").inc()
        if not self._ready.is_set():
            self._become_unavailable(f"{self.spec.name} {error}; see the log", None)

    async def _serve(self, tenure: Tenure) -> None:
        """Offer a host until it is lost, or replaced and at rest; then end it."""
        self.reason = None
        self._ready.set()
        self._tenures.append(tenure)
        ENGINE_PROCESSES.labels(self.spec.name).inc()
        self._settled.set()
        self._changed()
        self._wake()
        try:
            cause = await tenure.until_replaced()
            self._tenures.remove(tenure)
            if cause is None:
                self._retiring.append(tenure)
                log.info("engine process is replaced", engine=self.spec.name)
                cause = await tenure.until_at_rest(RETIREMENT)
            if cause is not None:
                ENGINE_LOSSES.labels(self.spec.name, cause).inc()
        finally:
            for tenures in (self._tenures, self._retiring):
                if tenure in tenures:
                    tenures.remove(tenure)
            ENGINE_PROCESSES.labels(self.spec.name).dec()
            await tenure.host.stop()

    def _become_unavailable(self, reason: str, info: EngineInfo | None) -> None:
        if self._tenures:
            return
        self.reason, self.info = reason, info or self.info
        log.warning("engine unavailable", engine=self.spec.name, reason=reason)
        self._settled.set()
        self._changed()
        self._wake()

    def _delay(self, failures: int) -> float:
        """Return the seconds before the restart after so many deaths in a row."""
        if failures <= 1:
            return 0.0
        doubled = self._config.restart_delay * 2.0 ** min(failures - 2, 30)
        return min(doubled, self._config.max_restart_delay)
