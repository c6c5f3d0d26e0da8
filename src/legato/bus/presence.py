"""A process's own record in the registry: written while it runs, gone when it ends."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Final

import msgspec

from legato.bus.base import Registry
from legato.bus.records import PROCESS_KIND, TENANT, ProcessRecord, encode_process
from legato.bus.residency import resident_bytes
from legato.errors import BusUnavailable, Overloaded
from legato.telemetry.logs import logger

EVERY: Final = 1.0
"""Seconds between two writes."""

TTL: Final = 5.0
"""Seconds that a record outlives the last write: those of a killed process run out."""

LOOKS: Final = 4
"""Looks at the event loop between two writes."""

Describe = Callable[[float, float], ProcessRecord]
"""Takes the Unix time of the start and the loop's lag in seconds, returns how the process is."""

log = logger(__name__)


def process_name() -> str:
    """Return a name that no other process has, and this one only once."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


class Presence:
    """Keeps the record of a gateway or a worker fresh.

    Args:
        registry: Of the bus.
        describe: Returns how the process is.
        every: Seconds between two writes.
    """

    def __init__(self, registry: Registry, describe: Describe, *, every: float = EVERY) -> None:
        self._registry = registry
        self._describe = describe
        self._every = every
        self._started = time.time()
        self._told = True

    async def run(self) -> None:
        """Write the record until cancelled, and erase it then."""
        lag = 0.0
        try:
            while True:
                await self._write(lag)
                lag = await self._watch()
        finally:
            await self._erase()

    async def _write(self, lag: float) -> None:
        memory_bytes = await asyncio.to_thread(resident_bytes)
        record = msgspec.structs.replace(
            self._describe(self._started, lag), told=time.time(), memory_bytes=memory_bytes
        )
        try:
            await self._registry.put(
                TENANT,
                PROCESS_KIND,
                record.name,
                encode_process(record),
                ttl=max(TTL, 3 * self._every),
            )
        except (BusUnavailable, Overloaded) as error:
            if self._told:  # once, not each second
                log.warning("process could not be announced", code=error.code)
            self._told = False
        else:
            self._told = True

    async def _watch(self) -> float:
        """Wait for the next write; return by how much the loop was late at worst."""
        loop = asyncio.get_running_loop()
        worst = 0.0
        for _ in range(LOOKS):
            due = loop.time() + self._every / LOOKS
            await asyncio.sleep(self._every / LOOKS)
            worst = max(worst, loop.time() - due)
        return round(worst, 4)

    async def _erase(self) -> None:
        name = self._describe(self._started, 0.0).name
        try:
            await self._registry.delete(TENANT, PROCESS_KIND, name)
        except BusUnavailable as error:
            log.debug("record left to run out", code=error.code)
