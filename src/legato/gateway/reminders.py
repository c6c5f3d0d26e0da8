"""Acks that wait a moment for company: an answer that is on its way takes them along."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

LINGER: Final = 0.02
"""Seconds that an ack of audio waits for other words to the same client: one that leaves by itself
takes a turn of its connection and a write of its own."""


class Debtor(Protocol):
    """A stream that owes its client an ack."""

    def remind(self, now: float) -> None:
        """Send it now, unless that is done."""


class Reminders:
    """One timer for all streams; used within one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: deque[tuple[float, Debtor]] = deque()

    def note(self, debtor: Debtor) -> None:
        """Have a stream reminded in `LINGER` seconds."""
        due = self._loop.time() + LINGER
        if not self._due:
            self._loop.call_at(due, self._remind)
        self._due.append((due, debtor))

    def _remind(self) -> None:
        now = self._loop.time()
        queue = self._due
        while queue and queue[0][0] <= now:
            queue.popleft()[1].remind(now)
        if queue:
            self._loop.call_at(queue[0][0], self._remind)
