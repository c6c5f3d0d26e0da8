"""Replay: what was sent and may have to be sent again."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from legato.errors import ResumeGap

T = TypeVar("T")


class Replay(Generic[T]):
    """Sent items in order, until the peer has done with them.

    Numbers rise but may have holes (an utterance that was cancelled). Over the bound the oldest
    items that the peer has *received* are forgotten; one that it has not is never lost.

    Args:
        bound: Size kept at the most, beyond what the peer has not received.

    Attributes:
        total: Size of all that is kept.
        received: Number up to which the peer is known to hold everything, or -1.
    """

    __slots__ = ("_bound", "_forgotten", "_items", "received", "total")

    def __init__(self, *, bound: int) -> None:
        self._bound = bound
        self._items: deque[tuple[int, int, T]] = deque()
        self._forgotten = -1
        self.total = 0
        self.received = -1

    def __len__(self) -> int:
        return len(self._items)

    @property
    def unreceived(self) -> bool:
        """Whether anything kept is not known to have arrived."""
        return bool(self._items) and self._items[-1][0] > self.received

    @property
    def complete(self) -> bool:
        """Whether everything ever kept is still here."""
        return self._forgotten < 0

    def keep(self, number: int, item: T, size: int) -> None:
        """Add an item, numbered above all before it; `size` is in the unit of the bound."""
        self._items.append((number, size, item))
        self.total += size
        if self.total > self._bound:
            self._shrink()

    def receive(self, number: int) -> bool:
        """Note that the peer holds everything up to `number`; return whether that is news."""
        if number <= self.received:
            return False
        self.received = number
        if self.total > self._bound:
            self._shrink()
        return True

    def release(self, number: int) -> None:
        """Forget everything up to `number`: the peer has done with it."""
        items, size = self._items, 0
        while items and items[0][0] <= number:
            self._forgotten, freed, _ = items.popleft()
            size += freed
        self.total -= size

    def forget(self, number: int) -> None:
        """Note that items up to `number` are known to the peer, and were never kept here."""
        self._forgotten = self.received = number

    def since(self, number: int) -> list[T]:
        """Return what is kept from `number` on.

        Raises:
            ResumeGap: If something from there on was forgotten.
        """
        if number <= self._forgotten:
            raise ResumeGap(
                f"entries {number} to {self._forgotten} are kept no more",
                missing=(number, self._forgotten + 1),
            )
        return [item for kept, _, item in self._items if kept >= number]

    def _shrink(self) -> None:
        items = self._items
        while items and self.total > self._bound and items[0][0] <= self.received:
            self._forgotten, size, _ = items.popleft()
            self.total -= size
