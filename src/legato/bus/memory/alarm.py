"""The clock of a memory bus and the one loop timer behind all its deadlines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from legato.errors import BusUnavailable

RESOLUTION = 0.02
"""Seconds from one ring to the next, at least: deadlines that are close fall due together."""


LATE = 0.25
"""Seconds by which a ring may be late; with more, the loop was held up or the process stopped."""


class Alarm:
    """Rings once the earliest instant asked for has come.

    Args:
        clock: Returns the monotonic time in seconds.
        ring: Called in the event loop; asks for the next instant itself.
        stopwatch: Returns the seconds by which it is told whether a ring is late. That is not the
            loop's clock: it may stand still within a turn.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        ring: Callable[[], None],
        *,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._ring = ring
        self._stopwatch = stopwatch
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._late = False

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def now(self) -> float:
        """Return the time.

        Raises:
            BusUnavailable: After `close`.
        """
        if self._closed:
            raise BusUnavailable("the bus is closed")
        return self._clock()

    def at(self, due: float) -> None:
        """Ring at `due` or before, `RESOLUTION` from now if that is later; within the loop only."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        delay = max(due - self._clock(), RESOLUTION)
        when = loop.time() + delay
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._measure()
            self._timer.cancel()
        self._due = self._stopwatch() + delay
        self._timer = loop.call_at(when, self._fire)

    def was_late(self) -> bool:
        """Tell whether a ring came more than `LATE` after its time since this was last asked.

        Then nothing else that had a time came in time either.
        """
        self._measure()
        late, self._late = self._late, False
        return late

    def close(self) -> None:
        """Never ring again."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _measure(self) -> None:
        if self._timer is not None and self._stopwatch() - self._due > LATE:
            self._late = True

    def _fire(self) -> None:
        self._measure()
        self._timer = None
        self._ring()
