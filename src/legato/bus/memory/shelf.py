"""Values with a size and a time to live, in groups, within a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from legato.bus.memory.alarm import Alarm
from legato.bus.memory.deadlines import Deadlines
from legato.errors import Overloaded

V = TypeVar("V")

Group = tuple[str, ...]

ITEM_BYTES = 512
"""Cost of a value beside its bytes: names, records, dictionary and heap entries."""


@dataclass(slots=True)
class _Item(Generic[V]):
    value: V
    size_bytes: int


class Shelf(Generic[V]):
    """Where the registry and the blobs are kept.

    Args:
        title: Names the shelf in errors.
        bound: Bytes it may hold.
        alarm: Tells the time and when to sweep.
    """

    def __init__(self, title: str, bound: int, alarm: Alarm) -> None:
        self._title = title
        self._bound = bound
        self._alarm = alarm
        self._groups: dict[Group, dict[str, _Item[V]]] = {}
        self._deadlines: Deadlines[tuple[Group, str]] = Deadlines()
        self._count = 0
        self._size_bytes = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """What is kept, with a fixed cost for each value."""
        return self._size_bytes

    def get(self, group: Group, name: str) -> V | None:
        """Return a live value, or None."""
        item = self._live(group, name)
        return None if item is None else item.value

    def list(self, group: Group) -> dict[str, V]:
        """Return the live values of a group by name."""
        now = self._alarm.now()
        items = self._groups.get(group, {})
        return {
            name: item.value
            for name, item in items.items()
            if not self._deadlines.passed((group, name), now)
        }

    def groups(self) -> tuple[Group, ...]:
        """Return the groups that hold live values."""
        return tuple(group for group in self._groups if self.list(group))

    def put(self, group: Group, name: str, value: V, *, size_bytes: int, ttl: float | None) -> None:
        """Keep a value in the place of the one that was there, for `ttl` seconds or for ever.

        Raises:
            Overloaded: If there is no room; what was there stays.
        """
        self.replace(group, name, value, size_bytes=size_bytes)
        if ttl is None:
            self._deadlines.discard((group, name))
        else:
            due = self._alarm.now() + ttl
            self._deadlines.set((group, name), due)
            self._alarm.at(due)

    def replace(self, group: Group, name: str, value: V, *, size_bytes: int) -> None:
        """Keep a value for as long as the one that was there would have lived, or for ever.

        Raises:
            Overloaded: If there is no room; what was there stays.
        """
        known = self._live(group, name)
        size_bytes += ITEM_BYTES
        grown = self._size_bytes + size_bytes - (0 if known is None else known.size_bytes)
        if grown > self._bound:
            raise Overloaded(
                f"no room for {name!r}: the {self._title} would hold {grown} bytes,"
                f" the limit is {self._bound}; delete something or give it a shorter time to live"
            )
        self._groups.setdefault(group, {})[name] = _Item(value, size_bytes)
        self._size_bytes = grown
        self._count += known is None

    def delete(self, group: Group, name: str) -> bool:
        """Forget a value; False if there was none."""
        if self._live(group, name) is None:
            return False
        self._remove(group, name)
        return True

    def sweep(self, now: float) -> float | None:
        """Forget what has outlived its time; return when to come again."""
        for group, name in self._deadlines.take(now):
            self._remove(group, name)
        return self._deadlines.next()

    def _live(self, group: Group, name: str) -> _Item[V] | None:
        if self._deadlines.passed((group, name), self._alarm.now()):
            self._remove(group, name)
        return self._groups.get(group, {}).get(name)

    def _remove(self, group: Group, name: str) -> None:
        self._deadlines.discard((group, name))
        items = self._groups[group]
        self._size_bytes -= items.pop(name).size_bytes
        self._count -= 1
        if not items:
            del self._groups[group]
