"""A TCP load balancer inside the test: it shares connections out, and breaks them on command."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

Cut = Literal["rst", "fin"]

CONNECT_TIMEOUT = 1.0
_CHUNK = 65_536
_ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER that makes a close a reset."""


@dataclass(eq=False)
class _Pair:
    """One client's connection and the one that it leads to."""

    writers: list[asyncio.StreamWriter]
    open: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, how: Cut) -> None:
        for writer in self.writers:
            if how == "rst":
                sock = writer.get_extra_info("socket")
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                writer.transport.abort()
            else:
                writer.close()
        self.open.set()


class Balancer:
    """Listens on one port and leads each connection to the next backend that answers.

    Args:
        backends: Ports of 127.0.0.1, asked for at each connection.
    """

    def __init__(self, backends: Callable[[], Sequence[int]]) -> None:
        self._backends = backends
        self._turn = 0
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._passing = asyncio.Event()
        self._passing.set()
        self.port = 0

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Listen no more; who connects is refused."""
        if self._server is not None:
            self._server.close()

    async def stop(self) -> None:
        """Cut everything and listen no more."""
        self.close()
        self.cut("rst")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def connections(self) -> int:
        """Those that are led through now."""
        return len(self._pairs)

    def cut(self, how: Cut) -> int:
        """End all connections, both sides; what is under way is lost. Returns how many."""
        pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            pair.end(how)
        return len(pairs)

    def freeze(self, *, new: bool = True) -> None:
        """Let nothing pass and close nothing: a black hole.

        Args:
            new: Also for connections that are made from now on; else only those there are.
        """
        for pair in self._pairs:
            pair.open.clear()
        if new:
            self._passing.clear()

    def thaw(self) -> None:
        """Let everything pass again; what was sent meanwhile arrives late."""
        self._passing.set()
        for pair in self._pairs:
            pair.open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        pair = _Pair([writer])
        self._pairs.add(pair)
        try:
            await self._lead(pair, reader, writer)
        except (OSError, asyncio.CancelledError):  # cut, or the balancer stops
            pair.end("rst")
        finally:
            self._pairs.discard(pair)
            self._tasks.discard(task)

    async def _lead(
        self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._passing.wait()
        backend = await self._connect()
        if backend is None:
            pair.end("rst")
            return
        pair.writers.append(backend[1])
        if pair in self._pairs:
            pair.open.set()
        else:  # it was cut while the backend was looked for
            pair.end("rst")
        async with asyncio.TaskGroup() as both:
            both.create_task(_pass(pair, reader, backend[1]))
            both.create_task(_pass(pair, backend[0], writer))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        ports = self._backends()
        for _ in range(len(ports)):
            self._turn += 1
            port = ports[self._turn % len(ports)]
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    return await asyncio.open_connection("127.0.0.1", port)
        return None


async def _pass(pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes one way until its end, which is passed on as well."""
    try:
        while data := await reader.read(_CHUNK):
            await pair.open.wait()
            writer.write(data)
            await writer.drain()
        await pair.open.wait()
        writer.close()
    except OSError:  # a reset of one side is one of the other
        pair.end("rst")
