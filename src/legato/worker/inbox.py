"""A job's view of the up log: entries in order, and cancels ahead of their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from legato.bus.base import Entry, Item, Logs, StreamKey
from legato.protocol.messages import Cancel
from legato.worker.tail import Tail

BOUND: Final = 4_096
"""Items held; with more, the log itself is left to hold them."""


class Inbox:
    """Follows one up log.

    Args:
        logs: Of the bus.
        key: The stream.
        first_seq: Items below are not delivered: they are done with.
        interrupted: Called at once when a cancel arrives, before its turn, and when no more comes.
        clock: Monotonic seconds.
        bound: Items held before the log is left to hold them.
    """

    def __init__(
        self,
        logs: Logs,
        key: StreamKey,
        *,
        first_seq: int = 0,
        interrupted: Callable[[], None] = lambda: None,
        clock: Callable[[], float],
        bound: int = BOUND,
    ) -> None:
        self._first_seq = first_seq
        self._interrupted = interrupted
        self._clock = clock
        self._bound = bound
        self._items: deque[tuple[Item, float]] = deque()
        self._cancels: deque[int] = deque()
        self._error: Exception | None = None
        self._arrived = asyncio.Event()
        self._tail = Tail(logs, key, first_seq=first_seq, deliver=self._deliver, failed=self.fail)

    async def next(self) -> tuple[Item, float]:
        """Return the next item and when it came.

        Raises:
            LegatoError: If the log is gone, or what `fail` was given.
        """
        while self._error is None:
            if self._items:
                item, arrived = self._items.popleft()
                if type(item) is Cancel:
                    self._cancels.popleft()
                if not self._tail.is_open and len(self._items) <= self._bound // 2:
                    self._tail.open()
                return item, arrived
            self._arrived.clear()
            await self._arrived.wait()
        raise self._error

    def cancels(self, utterance: int) -> bool:
        """Tell whether a cancel that has come, but not had its turn, concerns `utterance`."""
        return any(cancelled >= utterance for cancelled in self._cancels)

    @property
    def is_empty(self) -> bool:
        """Whether `next` would wait."""
        return not self._items and self._error is None

    @property
    def failed(self) -> bool:
        """Whether `next` raises."""
        return self._error is not None

    def check(self) -> None:
        """Raise what `next` would raise, if that is an error."""
        if self._error is not None:
            raise self._error

    def fail(self, error: Exception) -> None:
        """Have `next` raise `error` from now on."""
        if self._error is None:
            self._error = error
            self._arrived.set()
            self._interrupted()

    def close(self) -> None:
        """Follow no longer."""
        self._tail.close()

    def _deliver(self, entries: Sequence[Entry]) -> None:
        now = self._clock()
        cancelled = False
        for entry in entries:
            for item in entry.items:
                if getattr(item, "seq", 0) < self._first_seq:
                    continue
                if type(item) is Cancel:
                    self._cancels.append(item.utterance)
                    cancelled = True
                self._items.append((item, now))
        if len(self._items) >= self._bound:
            self._tail.close()
        if cancelled:
            self._interrupted()
        self._arrived.set()
