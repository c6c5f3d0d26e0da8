"""Records and counters of a memory bus."""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import count

from legato.bus.base import Record
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.bounds import Bounds
from legato.bus.memory.shelf import Shelf


class MemoryRegistry:
    """Fills the port's `Registry`; versions come from one counter, so that none comes twice."""

    def __init__(self, alarm: Alarm, bounds: Bounds) -> None:
        self._shelf: Shelf[Record] = Shelf("registry", bounds.registry_bytes, alarm)
        self._next_version = count(1)

    async def get(self, tenant: str, kind: str, name: str) -> Record | None:
        return self._shelf.get((tenant, kind), name)

    async def put(
        self,
        tenant: str,
        kind: str,
        name: str,
        value: bytes,
        *,
        ttl: float | None = None,
        expected: int | None = None,
    ) -> bool:
        known = self._shelf.get((tenant, kind), name)
        if expected is not None and expected != (0 if known is None else known.version):
            return False
        record = Record(value, next(self._next_version))
        self._shelf.put((tenant, kind), name, record, size_bytes=len(value), ttl=ttl)
        return True

    async def delete(self, tenant: str, kind: str, name: str) -> bool:
        return self._shelf.delete((tenant, kind), name)

    async def list(self, tenant: str, kind: str) -> Mapping[str, Record]:
        return self._shelf.list((tenant, kind))

    async def kinds(self, tenant: str) -> Set[str]:
        return {group[1] for group in self._shelf.groups() if group[0] == tenant}

    async def increment(
        self, tenant: str, kind: str, name: str, *, by: int = 1, ttl: float | None = None
    ) -> int:
        known = self._shelf.get((tenant, kind), name)
        total = by + (0 if known is None else _number(known, name))
        record = Record(b"%d" % total, next(self._next_version))
        size_bytes = len(record.value)
        if known is None:
            self._shelf.put((tenant, kind), name, record, size_bytes=size_bytes, ttl=ttl)
        else:
            self._shelf.replace((tenant, kind), name, record, size_bytes=size_bytes)
        return total

    def sweep(self, now: float) -> float | None:
        """Forget records that have outlived their time; return when to come again."""
        return self._shelf.sweep(now)

    def counts(self) -> dict[str, int]:
        """Count what is kept, by kind."""
        return {"records": len(self._shelf), "records_bytes": self._shelf.size_bytes}


def _number(record: Record, name: str) -> int:
    try:
        return int(record.value)
    except ValueError as error:
        raise ValueError(f"record {name!r} is not a counter") from error
