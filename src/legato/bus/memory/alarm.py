"""The clock of a memory bus and the one loop timer behind all its deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from legato.errors import BusUnavailable

RESOLUTION = 0.02
"""Seconds from one ring to the next, at least: deadlines that are close fall due together."""


class Alarm:
    """Rings once the earliest instant asked for has come.

    Args:
        clock: Returns the monotonic time in seconds.
        ring: Called in the event loop; asks for the next instant itself.
    """

    def __init__(self, clock: Callable[[], float], ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

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
        when = loop.time() + max(due - self._clock(), RESOLUTION)
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = loop.call_at(when, self._fire)

    def close(self) -> None:
        """Never ring again."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._ring()
