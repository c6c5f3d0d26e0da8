"""A TCP proxy that cuts what goes through it: reset, closed, half-open, or dark for a while."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

PIECE_BYTES: Final = 16_384
"""Read at once, so that what is on its way here stays little."""


class Cut(StrEnum):
    """How connections end.

    `RESET` sends RST to both ends, `CLOSE` sends FIN. After `SILENCE` the connection looks open to
    both ends for ever, and nothing that they say arrives.
    """

    RESET = "reset"
    CLOSE = "close"
    SILENCE = "silence"


class Direction(StrEnum):
    """Which way bytes go: `UP` from client to server."""

    UP = "up"
    DOWN = "down"


class _Pipe:
    """One proxied connection.

    Args:
        client: Towards the client.
        server: Towards the server.
    """

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.writers = {Direction.DOWN: client, Direction.UP: server}
        self.silent = False
        self.over = asyncio.Event()

    def cut(self, how: Cut) -> None:
        """End it."""
        if how is Cut.SILENCE:
            self.silent = True
            return
        for writer in self.writers.values():
            if writer.is_closing():
                continue
            if how is Cut.RESET:
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            else:
                writer.close()
        self.over.set()


class Cutter:
    """Proxies connections to a server, and cuts them when told, or after so many bytes.

    Use it by `async with`.

    Args:
        port: Of the server, on 127.0.0.1.

    Attributes:
        happened: Set at each cut.
        cuts: How many connections were cut.
        made: How many were made.
        passed: Bytes that went through, by direction.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._pipes: set[_Pipe] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._dark = False
        self._planned: dict[Direction, tuple[int, Cut]] = {}
        self.happened = asyncio.Event()
        self.cuts = 0
        self.made = 0
        self.passed = dict.fromkeys(Direction, 0)

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()
        for pipe in list(self._pipes):
            pipe.cut(Cut.RESET)
        if self._serving:
            await asyncio.wait(self._serving)

    @property
    def port(self) -> int:
        """Where clients connect to, on 127.0.0.1."""
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where clients of a WebSocket server connect to."""
        return f"ws://127.0.0.1:{self.port}"

    def cut(self, how: Cut = Cut.RESET) -> None:
        """Cut all connections that live now; later ones are as good as new."""
        for pipe in list(self._pipes):
            if not pipe.silent and not pipe.over.is_set():
                self.cuts += 1
                self.happened.set()
                pipe.cut(how)

    def cut_after(self, count: int, direction: Direction, how: Cut = Cut.RESET) -> None:
        """Cut all connections when `count` more bytes have passed, in the middle of whatever."""
        self._planned[direction] = (self.passed[direction] + count, how)

    def darken(self) -> None:
        """Lose everything: open connections fall silent for ever, new ones get no answer."""
        self._dark = True
        self.cut(Cut.SILENCE)

    def lighten(self) -> None:
        """The network is back, for connections that are made from now on."""
        self._dark = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        silent = self._dark
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (it is one)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        pipe = _Pipe(writer, forth)
        pipe.silent = silent
        self._pipes.add(pipe)
        pumps = [
            asyncio.create_task(self._pump(pipe, reader, Direction.UP)),
            asyncio.create_task(self._pump(pipe, back, Direction.DOWN)),
        ]
        try:
            await pipe.over.wait()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for end in (writer, forth):
                end.close()
            self._pipes.discard(pipe)

    async def _pump(self, pipe: _Pipe, reader: asyncio.StreamReader, direction: Direction) -> None:
        writer = pipe.writers[direction]
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE_BYTES):
                if pipe.silent:
                    continue
                data, how = self._count(data, direction)
                writer.write(data)
                await writer.drain()
                if how is not None:
                    self.cut(how)
        pipe.over.set()

    def _count(self, data: bytes, direction: Direction) -> tuple[bytes, Cut | None]:
        """Return what may pass, and how to cut after it."""
        at, how = self._planned.get(direction, (0, None))
        if how is not None and self.passed[direction] + len(data) >= at:
            data = data[: at - self.passed[direction]]
            del self._planned[direction]
        else:
            how = None
        self.passed[direction] += len(data)
        return data, how
