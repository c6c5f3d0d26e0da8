"""Who computes next in one engine process: what must be done in turn, and what may be left out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count


class Precedence:
    """Lets some threads at once compute: those that must, in turn; others if nobody waits.

    Of those that must, who is due first comes first (earliest deadline first), and of equals who
    has come first.

    `threading.Semaphore` lets a thread that comes back at once overtake those that wait, for ever
    if it never pauses.

    Args:
        parallel: Threads that compute at once.
    """

    def __init__(self, parallel: int) -> None:
        self._free = parallel
        self._waiting: list[tuple[float, int, threading.Lock]] = []
        self._tickets = count()
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """Threads that wait for their turn."""
        return len(self._waiting)

    @contextmanager
    def turn(self, due: float = 0.0) -> Iterator[None]:
        """Compute within the block, however long that has to be waited for.

        Args:
            due: When it must be done, on any clock that all use.
        """
        turn = self._stand(due)
        if turn is not None:
            # Without a deadline of its own: the worker watches over each call.
            turn.acquire()
        try:
            yield
        finally:
            self.give_back()

    def try_turn(self) -> bool:
        """Take a turn if one is free, and say whether it was; `give_back` follows."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            return True

    def give_back(self) -> None:
        """End a turn."""
        with self._lock:
            if self._waiting:
                heappop(self._waiting)[-1].release()
            else:
                self._free += 1

    def _stand(self, due: float) -> threading.Lock | None:
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            turn = threading.Lock()
            turn.acquire()
            heappush(self._waiting, (due, next(self._tickets), turn))
            return turn
