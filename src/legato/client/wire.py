"""One WebSocket of a connection: a task that reads it and a task that writes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from legato.client.dialing import CLOSE_TIMEOUT
from legato.errors import Internal, LegatoError

PROTOCOL_ERROR: Final = 1002
"""WebSocket close code (RFC 6455 §7.4.1)."""


class Transport(Protocol):
    """What is needed of `asyncio.Transport`."""

    def abort(self) -> None:
        """Drop the socket at once."""

    def get_write_buffer_size(self) -> int:
        """Return the bytes that the kernel has not taken."""


class Socket(Protocol):
    """What is needed of a WebSocket; websockets' `ClientConnection` has it."""

    @property
    def transport(self) -> Transport:
        """What is below it."""

    @property
    def state(self) -> State:
        """Whether it is open."""

    @property
    def close_code(self) -> int | None:
        """What it was closed with; 1006 if it broke."""

    @property
    def close_reason(self) -> str | None:
        """What the peer said when it closed."""

    def __aiter__(self) -> AsyncIterator[str | bytes]:
        """Iterate over the messages until it is closed."""

    async def send(self, message: str | bytes, /) -> None:
        """Send one message, waiting while the buffer is full."""

    async def ping(self) -> Awaitable[float]:
        """Send a ping; the result can be awaited for the pong."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close in good order."""


class Owner(Protocol):
    """The connection that a wire serves."""

    def heard(self, wire: Wire, message: str | bytes) -> None:
        """A message has come."""

    def due(self, wire: Wire) -> Sequence[str | bytes]:
        """Return what is to be sent now; asked again until it is nothing."""

    def sent(self, wire: Wire) -> None:
        """What was due has left."""

    def lost(self, wire: Wire) -> None:
        """The socket is closed or broken."""

    def broken(self, wire: Wire, error: LegatoError) -> None:
        """The peer broke the rules, or we have a bug: this cannot go on."""


class Wire:
    """Moves messages between a socket and its owner.

    Args:
        socket: An open one.
        owner: Who takes and gives.
    """

    def __init__(self, socket: Socket, owner: Owner) -> None:
        self.socket = socket
        self._owner = owner
        self._woken = asyncio.Event()
        self._leaving = False
        self._reader = self._spawn(self._read)
        self._writer = self._spawn(self._write)

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self.socket.state is State.OPEN

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the kernel has not taken."""
        return self.socket.transport.get_write_buffer_size()

    def wake(self) -> None:
        """Something may be due."""
        self._woken.set()

    def abort(self) -> None:
        """Drop the socket and the tasks at once."""
        self._reader.cancel()
        self._writer.cancel()
        self.socket.transport.abort()

    async def close(self) -> None:
        """Send what is due, close in good order, and wait for the tasks; takes 2 s at the most."""
        self._leaving = True
        self.wake()
        try:
            await asyncio.wait({self._writer}, timeout=CLOSE_TIMEOUT)
            await self.socket.close()
        finally:
            self.abort()
        await asyncio.gather(self._reader, self._writer, return_exceptions=True)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self._guard(work))

    async def _guard(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except LegatoError as error:  # the server breaks the protocol
            self._owner.broken(self, error)
            await self.socket.close(code=PROTOCOL_ERROR)
        except Exception as error:  # noqa: BLE001  (top of a task: a bug must reach the streams)
            fault = Internal(f"the client failed: {type(error).__name__}: {error}")
            fault.__cause__ = error
            self._owner.broken(self, fault)
            self.socket.transport.abort()

    async def _read(self) -> None:
        with suppress(ConnectionClosed):  # as good as the end: its code tells what happened
            async for message in self.socket:
                self._owner.heard(self, message)
                self._woken.set()
        self._owner.lost(self)

    async def _write(self) -> None:
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                while frames := self._owner.due(self):
                    for frame in frames:
                        await self.socket.send(frame)
                    self._owner.sent(self)
                if self._leaving:
                    return
        except ConnectionClosed:
            return  # the reader tells, once it has read what came before
