"""What falls due when: a timer queue that is cheap to move."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K")

SLACK = 64
"""Outdated heap entries that are tolerated beside as many as there are keys."""


class Deadlines(Generic[K]):
    """Keys and the instants at which they fall due.

    Moving a deadline later, as every touch and renewal does, writes one dictionary entry: the heap
    learns of it when the old instant comes. Outdated heap entries never outnumber the keys by more
    than `SLACK`.
    """

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._ties = count()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def pending(self) -> tuple[K, ...]:
        """Return the keys that have a deadline."""
        return tuple(self._due)

    def set(self, key: K, due: float) -> None:
        """Let `key` fall due at `due`, whatever held before."""
        known = self._due.get(key)
        self._due[key] = due
        if known is None or due < known:
            heapq.heappush(self._heap, (due, next(self._ties), key))
            self._tidy()

    def discard(self, key: K) -> None:
        """Forget `key`, if it is there."""
        if self._due.pop(key, None) is not None:
            self._tidy()

    def passed(self, key: K, now: float) -> bool:
        """Tell whether `key` is due and was not taken yet."""
        due = self._due.get(key)
        return due is not None and due <= now

    def take(self, now: float) -> list[K]:
        """Remove and return the keys that are due, earliest first."""
        taken = []
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            due = self._due.get(key)
            if due is None:
                continue
            if at < due:
                heapq.heappush(self._heap, (due, next(self._ties), key))
            else:
                del self._due[key]
                taken.append(key)
        return taken

    def next(self) -> float | None:
        """Return when to look next, at the latest the earliest deadline; None if there is none."""
        return self._heap[0][0] if self._due else None

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._heap = [(due, next(self._ties), key) for key, due in self._due.items()]
            heapq.heapify(self._heap)
