"""Blobs of a memory bus."""

from __future__ import annotations

from collections.abc import Set

from legato.bus.memory.alarm import Alarm
from legato.bus.memory.bounds import Bounds
from legato.bus.memory.shelf import Shelf


class MemoryBlobs:
    """Fills the port's `Blobs`."""

    def __init__(self, alarm: Alarm, bounds: Bounds) -> None:
        self._shelf: Shelf[bytes] = Shelf("blob store", bounds.blobs_bytes, alarm)

    async def put(self, tenant: str, name: str, data: bytes, *, ttl: float | None = None) -> None:
        self._shelf.put((tenant,), name, data, size_bytes=len(data), ttl=ttl)

    async def get(self, tenant: str, name: str) -> bytes | None:
        return self._shelf.get((tenant,), name)

    async def delete(self, tenant: str, name: str) -> bool:
        return self._shelf.delete((tenant,), name)

    async def list(self, tenant: str) -> Set[str]:
        return self._shelf.list((tenant,)).keys()

    def sweep(self, now: float) -> float | None:
        """Forget blobs that have outlived their time; return when to come again."""
        return self._shelf.sweep(now)

    def counts(self) -> dict[str, int]:
        """Count what is kept, by kind."""
        return {"blobs": len(self._shelf), "blobs_bytes": self._shelf.size_bytes}
