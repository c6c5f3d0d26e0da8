"""Has a worker drop the speech that it keeps of a tenant who had something erased."""

from __future__ import annotations

import asyncio
from typing import Final

from legato.bus.base import Registry
from legato.bus.records import FORGOTTEN_KIND, TENANT
from legato.errors import BusUnavailable
from legato.worker.cache import SpeechCache

LOOK_EVERY: Final = 1.0
"""Seconds."""


class Forgetting:
    """Looks for what was erased.

    Args:
        registry: Of the bus, where it is told.
        cache: Of the worker.
    """

    def __init__(self, registry: Registry, cache: SpeechCache) -> None:
        self._registry = registry
        self._cache = cache
        self._seen: dict[str, int] = {}

    async def run(self) -> None:
        """Look for ever, if anything is kept."""
        while self._cache.is_on:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Drop what was erased since the last look; all, if there is no telling."""
        try:
            records = await self._registry.list(TENANT, FORGOTTEN_KIND)
        except BusUnavailable:
            self._cache.clear()
            return
        seen = {name: record.version for name, record in records.items()}
        for name, version in seen.items():
            if self._seen.get(name) != version:
                self._cache.forget(name)
        self._seen = seen
