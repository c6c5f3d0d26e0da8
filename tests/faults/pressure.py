"""For how long processes had to wait for a processor: no fault of a promise about seconds."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from tests.faults.history import Event, History

EVERY = 0.1
SOURCE = Path("/proc/pressure/cpu")
"""Pressure stall information: `some` is the time in which at least one process waited
(Documentation/accounting/psi.rst of Linux). Not every system has it; then nothing is known."""


def waited() -> float:
    """Seconds since the start of the machine in which some process waited for a processor."""
    try:
        some = SOURCE.read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1e6


async def note(history: History) -> None:
    """Write that into a history, again and again."""
    while True:
        history.record("test", "pressure", "ok", waited=await asyncio.to_thread(waited))
        await asyncio.sleep(EVERY)


class Pressure:
    """What a history says of it."""

    def __init__(self, history: Iterable[Event]) -> None:
        told = [event for event in history if event.op == "pressure"]
        self._times = [event.t for event in told]
        self._waited = [float(event.facts["waited"]) for event in told]

    def between(self, since: float, until: float) -> float:
        """Seconds of waiting in a span; at most as long as the span."""
        return max(0.0, min(self._at(until) - self._at(since), until - since))

    def _at(self, moment: float) -> float:
        number = bisect_right(self._times, moment)
        return self._waited[max(0, number - 1)] if self._waited else 0.0
