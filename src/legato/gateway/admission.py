"""Who is let in: a stream that is accepted is served, so one that could not be is refused at once.

The workers tell once a second how many slots are taken, how many calls wait and how long a call
needs its slot. What this gateway has let in since then is counted on top.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from legato.bus.base import Registry
from legato.bus.records import PROCESS_KIND, TENANT, EngineLoad, decode_process
from legato.errors import Overloaded
from legato.gateway.catalog import Catalog
from legato.protocol.messages import StreamStart
from legato.telemetry.logs import logger

log = logger(__name__)

FRESH: Final = 0.5
"""Seconds that a reading of the workers' records is used."""

SETTLED: Final = 2.0
"""Seconds after which a stream that was let in is in the workers' own figures, if it speaks."""

LENIENCE: Final = 6.0
"""How many times as long one may have to wait that is given everything at once, at its end, or that
goes on with what a server has lost; who says so cannot be proved wrong, so that has a bound too."""

LONGEST_RETRY: Final = 60.0
"""Seconds that a client is told to wait at most: until then somebody will have ended."""


UNMEASURED: Final = MappingProxyType({"synthesize": 1.0, "recognize": 30.0})
"""Seconds that a call needs its slot, by task, as long as no worker has told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How busy all workers together are with one engine.

    Attributes:
        slots: Calls at once.
        busy: Slots taken.
        waiting: Calls that wait for a slot.
        hold: Seconds that a call needs its slot.
        oldest: Seconds for which the oldest call has had its slot.
        cost: Seconds of a slot for a second of audio; 0 if that is not known.
    """

    slots: int
    busy: int
    waiting: int
    hold: float
    oldest: float
    cost: float


def merged(loads: Sequence[EngineLoad]) -> Load | None:
    """Put together what the workers that are ready say; None if there is none."""
    ready = [load for load in loads if load.slots > 0]
    if not ready:
        return None
    slots = sum(load.slots for load in ready)
    return Load(
        slots=slots,
        busy=sum(load.busy for load in ready),
        waiting=sum(load.waiting for load in ready),
        hold=sum(load.hold * load.slots for load in ready) / slots,
        oldest=max(load.oldest for load in ready),
        cost=sum(load.cost * load.slots for load in ready) / slots,
    )


def expected_wait(load: Load, coming: int) -> float:
    """Estimate how many seconds one more stream would wait for its first slot.

    A slot gets free when the oldest call ends, and then one every `hold / slots` seconds. Calls
    may go on for longer than any before them: then nothing is known but that they do.

    Args:
        load: Of the engine.
        coming: Streams let in that `load` does not know of yet.
    """
    ahead = load.busy + load.waiting + coming - load.slots
    if ahead < 0:
        return 0.0
    each = max(load.hold, load.oldest / 2) / load.slots
    return max(load.hold - load.oldest, each) + ahead * each


def is_slower_than_speech(load: Load, coming: int) -> bool:
    """Tell whether, with one more stream, audio would be made more slowly than it is heard.

    Args:
        load: Of the engine.
        coming: Streams let in that `load` does not know of yet.
    """
    active = load.busy + load.waiting + coming
    return active > 0 and load.cost > 0 and (active + 1) * load.cost > load.slots


class Admission:
    """Lets streams in.

    Args:
        registry: Of the bus.
        catalog: Knows the slots of an engine of which no figures have come yet.
        clock: Monotonic seconds.
        max_wait: Seconds that a new stream may have to wait for its first slot.
    """

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        clock: Callable[[], float],
        *,
        max_wait: float,
    ) -> None:
        self._registry = registry
        self._catalog = catalog
        self._clock = clock
        self._max_wait = max_wait
        self._loads: dict[tuple[str, str], Load] = {}
        self._read_at = -math.inf
        self._coming: dict[tuple[str, str], deque[float]] = {}

    async def admit(self, start: StreamStart, engine: str) -> None:
        """Let a stream in, or refuse it.

        Args:
            start: What is asked for.
            engine: Who would do it.

        Raises:
            Overloaded: If it would have to wait for too long.
            BusUnavailable: If the registry cannot be read.
        """
        now = self._clock()
        await self._read(now)
        key = (start.task, engine)
        load = self._loads.get(key) or await self._unmeasured(key)
        if load is None:
            return
        coming = self._coming.setdefault(key, deque())
        while coming and coming[0] <= now - SETTLED:
            coming.popleft()
        wait = expected_wait(load, len(coming))
        whole = start.task == "synthesize" and not start.streaming
        patient = whole or start.continues is not None
        slow = start.task == "synthesize" and is_slower_than_speech(load, len(coming))
        if wait > self._max_wait * (LENIENCE if patient else 1) or (slow and not patient):
            raise self._refusal(engine, max(wait, load.hold), offered=not patient, task=start.task)
        coming.append(now)

    @staticmethod
    def _refusal(engine: str, wait: float, *, offered: bool, task: str) -> Overloaded:
        offer = {"streaming": False} if offered and task == "synthesize" else None
        retry_after = round(min(max(wait, 1.0), LONGEST_RETRY), 1)
        message = f"{engine} is busy; a new stream would wait for about {retry_after:g} s"
        if offer is not None:
            message += ", but one that is not streamed may come now"
        return Overloaded(message, retry_after=retry_after, offer=offer)

    async def _unmeasured(self, key: tuple[str, str]) -> Load | None:
        """Return the load of an engine that has just become ready; None for an echo."""
        for record in await self._catalog.engines():
            if (record.kind, record.name) == key and record.slots:
                hold = UNMEASURED[record.kind]
                return Load(slots=record.slots, busy=0, waiting=0, hold=hold, oldest=0.0, cost=0.0)
        return None

    async def _read(self, now: float) -> None:
        if now < self._read_at + FRESH:
            return
        self._read_at = now
        told: dict[tuple[str, str], list[EngineLoad]] = {}
        for record in (await self._registry.list(TENANT, PROCESS_KIND)).values():
            try:
                process = decode_process(record.value)
            except msgspec.ValidationError:
                log.warning("a process's record cannot be read")  # of another version
                continue
            if process.state != "draining":
                for load in process.engines:
                    told.setdefault((load.kind, load.name), []).append(load)
        loads = {key: merged(parts) for key, parts in told.items()}
        self._loads = {key: load for key, load in loads.items() if load is not None}
