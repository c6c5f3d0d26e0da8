"""Connections to one server: made on first use, shared by streams, replaced when dead (R3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.connection import Connection
from legato.errors import ConnectionLost, LegatoError
from legato.protocol.messages import StreamStart

SPARE_TRIES: Final = 2
"""Dead connections beyond the pool's size before a server that drops them all is given up."""


class Link(Protocol):
    """What the pool needs of a connection."""

    @property
    def usable(self) -> bool:
        """Whether new streams may be opened here."""

    @property
    def load(self) -> int:
        """Open streams."""

    async def open(self) -> None:
        """Connect and say hello."""

    async def is_alive(self) -> bool:
        """Make sure that the server is still there."""

    def start(self, start: StreamStart) -> Channel:
        """Open a stream."""

    def abort(self) -> None:
        """Drop it."""

    async def close(self) -> None:
        """Close it in good order."""


class Pool:
    """Opens streams on live connections.

    Args:
        config: How to connect, and how many at the most.
        connection: Makes a connection that is not open yet.
    """

    def __init__(
        self,
        config: ClientConfig,
        connection: Callable[[ClientConfig], Link] = Connection,
    ) -> None:
        self._config = config
        self._new_connection = connection
        self._connections: list[Link] = []
        self._growing: asyncio.Task[Link] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return sum(connection.usable for connection in self._connections)

    async def start(self, start: StreamStart) -> Channel:
        """Open a stream: on an idle connection, a new one if there may be more, or the least busy.

        Raises:
            ConnectionLost: If a connection is needed and cannot be made.
            LegatoError: If the server refuses it, or the stream's parameters.
        """
        dead = 0
        while dead < self._config.pool_size + SPARE_TRIES:
            if self._closed:
                raise ConnectionLost("the client is closed")
            self._retire()
            usable = [connection for connection in self._connections if connection.usable]
            best = min(usable, key=lambda connection: connection.load, default=None)
            if best is None or (best.load and len(usable) < self._config.pool_size):
                try:
                    await self._grow()
                    continue
                except LegatoError:
                    if best is None or not best.usable:
                        raise
            load = best.load
            if not await best.is_alive():
                best.abort()
                dead += 1
            elif best.usable and best.load <= load:  # else somebody else was faster
                return best.start(start)
        raise ConnectionLost(f"{self._config.address} drops its connections at once")

    async def close(self) -> None:
        """Close all connections; their streams fail."""
        self._closed = True
        if self._growing is not None:
            self._growing.cancel()
            await asyncio.wait({self._growing})
        connections, self._connections = self._connections, []
        await asyncio.gather(*(connection.close() for connection in connections))
        if self._closing:
            await asyncio.wait(self._closing)

    def _retire(self) -> None:
        """Close the connections that carry nothing and open no more streams."""
        spent = [one for one in self._connections if not one.usable and not one.load]
        for connection in spent:
            self._connections.remove(connection)
            task = asyncio.get_running_loop().create_task(connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _grow(self) -> None:
        """Open one more connection; all who wait for one at this moment wait for the same."""
        if self._growing is None:
            self._growing = asyncio.get_running_loop().create_task(self._open())
            self._growing.add_done_callback(self._grown)
        await asyncio.shield(self._growing)

    async def _open(self) -> Link:
        connection = self._new_connection(self._config)
        await connection.open()
        return connection

    def _grown(self, task: asyncio.Task[Link]) -> None:
        self._growing = None
        if not task.cancelled() and task.exception() is None:
            self._connections.append(task.result())
