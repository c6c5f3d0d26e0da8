"""How full a log is, as far as a process knows, and who waits for that to change."""

from __future__ import annotations

import asyncio

ENTRY_BYTES = 64
"""What an entry counts beside its bytes."""


class Gauge:
    """Shared by all writers of one log in a process.

    Attributes:
        stored: Bytes ever stored in the log.
        trimmed: How many of them had been trimmed when the server last said.
        pending: Bytes that are not known to be stored yet.
    """

    __slots__ = ("__weakref__", "_waiting", "pending", "stored", "trimmed")

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        self.stored = 0
        self.trimmed = 0
        self.pending = 0

    @property
    def size_bytes(self) -> int:
        """What is in the log and what is on its way there."""
        return self.stored - self.trimmed + self.pending

    def changed(self) -> None:
        """Wake all who wait for a change of anything."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def change(self, timeout: float | None = None) -> None:
        """Wait for a change, for at most `timeout` seconds."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await asyncio.wait((waiter,), timeout=timeout)
        finally:
            self._waiting.discard(waiter)
