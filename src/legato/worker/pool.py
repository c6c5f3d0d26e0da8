"""One engine of a worker: who waits for it, who serves, when it rests and when it is swapped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from legato.engines.base import EngineInfo, EngineKind
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, Overloaded
from legato.flow.urgency import PATIENCE
from legato.telemetry.logs import logger
from legato.worker.calls import EngineCall, Request
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.crew import Crew, host_count, is_inline
from legato.worker.line import ANYONE, Queued, WaitingLine, untold
from legato.worker.measure import SlotMeasure
from legato.worker.tenure import Tenure
from legato.worker.turns import Caller, timed

EXPECTED_HOLD: Final[Mapping[EngineKind, float]] = MappingProxyType(
    {EngineKind.SYNTHESIZE: 1.0, EngineKind.RECOGNIZE: 30.0}
)
"""Seconds that a call needs its slot, until it has been measured: one sentence is spoken in a
moment, but somebody who talks goes on for a while."""

LOOK: Final = 1.0
"""Seconds between looks whether an engine that is in use still is."""

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
        self._config = config
        self._changed = changed
        self._line = WaitingLine()
        self.measure = SlotMeasure(EXPECTED_HOLD[spec.kind])
        self._settled = asyncio.Event()
        self._ready = asyncio.Event()
        self._crew: Crew | None = None
        self._crews: list[Crew] = []
        self._group: asyncio.TaskGroup | None = None
        self._wanted = asyncio.Event()
        self._used_at = float("-inf")
        self.info: EngineInfo | None = None
        self.add_command: str | None = None
        self.reason: str | None = None
        self._take_listing(listing)

    def _take_listing(self, listing: Listing | None) -> None:
        self.reason = None
        if listing is None:  # what was known may still hold
            return
        self.info = listing.info or self.info
        self.add_command = listing.add_command
        self.reason = listing.missing
        if self.reason is not None:
            self._settled.set()

    @property
    def state(self) -> PoolState:
        """Whether calls can be opened; an engine that rests or is being replaced is ready."""
        if self.reason is not None:
            return PoolState.UNAVAILABLE
        return PoolState.READY if self._ready.is_set() else PoolState.LOADING

    @property
    def slots(self) -> int:
        """Streams that it serves at once, 0 until it is ready."""
        if self.info is None or self.state is not PoolState.READY:
            return 0
        each = min(self.info.slots, self.spec.slots or self.info.slots)
        return each * host_count(self.spec, self.info)

    @property
    def _tenures(self) -> list[Tenure]:
        return [] if self._crew is None else self._crew.tenures

    @property
    def has_free_slot(self) -> bool:
        """Whether a call would be opened without a wait; not while the engine rests."""
        return not self._line and any(tenure.calls.free for tenure in self._tenures)

    @property
    def busy(self) -> int:
        """Slots that calls have taken; a host that is being replaced soon offers all of its own."""
        return sum(len(tenure.calls) for tenure in self._tenures)

    @property
    def is_running(self) -> bool:
        """Whether `run` goes on."""
        return self._group is not None

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
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                self._crew = self._hire(group)
                while await self._until_idle():
                    self._rest()
                    await self._wanted.wait()
                    log.info("engine is woken", engine=self.spec.name)
                    self._crew = self._hire(group)
            finally:
                self._group = None

    async def swap(self, spec: EngineSpec, listing: Listing | None) -> None:
        """Serve further calls with other options or weights; those under way end as they began.

        What is new is loaded beside what is there, and takes over when it is warm. An engine that
        rests, or cannot be used, is only noted: it is loaded when it wakes, or when it is run.

        Args:
            spec: As the engine is from now on.
            listing: What the registry knows of it now.

        Raises:
            EngineUnavailable: If it cannot be loaded like that; it goes on as it was.
        """
        if listing is not None and listing.missing is not None and self._ready.is_set():
            raise EngineUnavailable(listing.missing)
        if self._group is None or self._crew is None:
            self.spec = spec
            self._take_listing(listing)
            self._changed()
            return
        crew = self._hire(self._group, spec)
        await crew.settled.wait()
        if crew.reason is not None or crew.over.is_set():
            crew.dismiss()
            raise EngineUnavailable(crew.reason or "the worker stops")
        old, self._crew, self.spec = self._crew, crew, spec
        if old is not None:
            old.dismiss()
        self._crew_changed(crew)

    def _hire(self, group: asyncio.TaskGroup, spec: EngineSpec | None = None) -> Crew:
        crew = Crew(
            spec or self.spec,
            self._config,
            self.info,
            freed=self._freed,
            changed=self._crew_changed,
        )
        self._crews.append(crew)
        group.create_task(self._employ(crew))
        return crew

    async def _employ(self, crew: Crew) -> None:
        try:
            await crew.run()
        finally:
            self._crews.remove(crew)

    def _crew_changed(self, crew: Crew) -> None:
        if crew is not self._crew:
            return
        self.info, self.reason = crew.info or self.info, crew.reason
        if crew.ready.is_set():
            self._ready.set()
        self._settled.set()
        self._changed()
        self._line.wake()

    async def _until_idle(self) -> bool:
        """Wait until nobody has used it for `unload_after`; False if its crew gives it up."""
        self._used_at = time.monotonic()
        while self._crew is not None:
            crew = self._crew
            try:
                async with asyncio.timeout(self._rest_due()):
                    await crew.over.wait()
            except TimeoutError:
                if self._rest_due() == 0:
                    return True
            else:
                if crew is self._crew:
                    return False
        return False

    def _rest_due(self) -> float | None:
        """Return the seconds until it may rest, or until that is to be looked at again."""
        after = self.spec.unload_after
        if after is None or is_inline(self.spec, self.info):
            return None
        swapping = len(self._crews) > 1
        if swapping or self._line or self.busy or not all(c.ready.is_set() for c in self._crews):
            return LOOK
        return max(0.0, self._used_at + after - time.monotonic())

    def _rest(self) -> None:
        log.info("engine rests", engine=self.spec.name)
        self._wanted.clear()
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.dismiss()

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

        An engine that rests is woken.

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
            if tenure is None or not tenure.calls.free:
                return None
            return tenure.open(timed(request, caller, time.monotonic()))

        self._used_at = time.monotonic()
        self._wanted.set()
        patience = self._config.slot_timeout
        if self._crew is None or not self._crew.ready.is_set():
            patience += self._config.load_timeout
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

    def keep_prompts(self, digests: Collection[str]) -> None:
        """Have all hosts forget the recordings of all voices but some."""
        for crew in self._crews:
            crew.keep_prompts(digests)

    def _freed(self, held: float) -> None:
        self._used_at = time.monotonic()
        self.measure.note_hold(held)
        self._line.wake()
