"""The shell around a client session: one WebSocket, one reader, one writer."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar, Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.dialing import CLOSE_TIMEOUT, dial
from legato.errors import ConnectionLost, Draining, Internal, LegatoError
from legato.protocol.messages import Hello, StreamStart
from legato.protocol.version import VERSION
from legato.session.client import ClientSession
from legato.session.events import (
    DrainAnnounced,
    LinkStalled,
    Noticed,
    Paced,
    Progressed,
    Received,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamOpened,
    StreamRecovered,
    Welcomed,
)
from legato.session.stream import Stream

CLIENT_NAME: Final = "legato-python"

FRESH: Final = 10.0
"""Seconds of silence that are not suspicious."""

PROBE_TIMEOUT: Final = 2.0
"""Seconds that it may take to answer."""

PROTOCOL_ERROR: Final = 1002
"""WebSocket close code (RFC 6455 §7.4.1)."""


class Connection:
    """One connection to the server, with the streams on it.

    Args:
        config: How to connect.
        fresh: Seconds of silence after which it is asked, when idle, whether it still lives.
    """

    def __init__(self, config: ClientConfig, *, fresh: float = FRESH) -> None:
        self._config = config
        self._fresh = fresh
        self._loop = asyncio.get_running_loop()
        self._session = ClientSession(Hello(version=VERSION, client=CLIENT_NAME))
        self._channels: dict[Stream, Channel] = {}
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._welcomed: asyncio.Future[None] = self._loop.create_future()
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._fault: LegatoError | None = None
        self._heard_at = 0.0
        self._draining = False
        self._leaving = False

    @property
    def usable(self) -> bool:
        """Whether new streams may be opened here."""
        return (
            self._socket is not None
            and self._socket.state is State.OPEN
            and self._fault is None
            and not self._draining
            and not self._leaving
        )

    @property
    def load(self) -> int:
        """Open streams."""
        return len(self._channels)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the kernel has not taken."""
        return 0 if self._socket is None else self._socket.transport.get_write_buffer_size()

    @property
    def rtt(self) -> float | None:
        """Round-trip time in seconds of the last ping."""
        return self._session.rtt

    async def open(self) -> None:
        """Connect and say hello.

        Raises:
            ConnectionLost: If the server cannot be reached, or is no Legato server.
            LegatoError: If it refuses.
        """
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                self._socket = await dial(self._config)
                self._heard_at = self.now()
                self._session.connected(self._heard_at)
                self._reader = self._spawn(self._read(self._socket))
                self._writer = self._spawn(self._write(self._socket))
                self.wake()
                await self._welcomed
        except TimeoutError as error:
            self.abort()
            raise ConnectionLost(f"{self._config.address} does not answer in time") from error
        except BaseException:
            self.abort()
            raise

    async def is_alive(self) -> bool:
        """Ask the server for a sign of life, if it was silent for long and nothing else asks."""
        socket = self._socket
        if socket is None or not self.usable:
            return False
        if self._channels or self.now() < self._heard_at + self._fresh:
            return True
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                await (await socket.ping())
        except (TimeoutError, ConnectionClosed):
            return False
        self._heard_at = self.now()
        return self.usable

    def start(self, start: StreamStart) -> Channel:
        """Open a stream; its input may be queued at once.

        Raises:
            LegatoError: If the parameters cannot be served, or the connection is lost.
        """
        if self._fault is not None:
            raise self._fault
        welcome = self._session.welcome
        assert welcome is not None  # noqa: S101  (`open` has waited for it)
        channel = Channel(
            self._session.start(start),
            self,
            rate=self._config.rate,
            burst=self._config.burst,
            max_text_chars=welcome.limits.max_text_chars,
        )
        self._channels[channel.stream] = channel
        self.wake()
        return channel

    def stop(self, channel: Channel) -> None:
        """End a stream now and have its data deleted."""
        if self._channels.pop(channel.stream, None) is not None:
            self._session.stop(channel.stream)
            self.wake()

    def pace(self, rate: float, channel: Channel) -> None:
        """Ask the server to send a stream at `rate` times real time."""
        self._session.pace(rate, channel.stream)
        self.wake()

    def now(self) -> float:
        """Monotonic seconds, as the session counts them."""
        return self._loop.time()

    def wake(self) -> None:
        """Something is to be sent, or a timer may have moved."""
        self._wake.set()

    async def close(self) -> None:
        """Close in good order: streams under way are stopped and fail, and the server knows."""
        self._leaving = True
        for channel in list(self._channels.values()):
            self.stop(channel)
            channel.fail(ConnectionLost("the client was closed"))
        self.wake()
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=CLOSE_TIMEOUT)
        if self._socket is not None:
            await self._socket.close()
        self.abort()
        tasks = [task for task in (self._reader, self._writer) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def abort(self, error: LegatoError | None = None) -> None:
        """Drop the connection; streams on it fail."""
        self._lose(error or ConnectionLost("the connection was closed"))
        for task in (self._reader, self._writer):
            if task is not None:
                task.cancel()
        if self._socket is not None:
            self._socket.transport.abort()

    # the two tasks

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._loop.create_task(self._guard(work))

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ConnectionClosed:
            self._lose_socket()
        except LegatoError as error:  # the server breaks the protocol
            self._lose(error)
            if self._socket is not None:
                await self._socket.close(code=PROTOCOL_ERROR)
        except Exception as error:  # noqa: BLE001  (top of a task: a bug must reach the streams)
            fault = Internal(f"the client failed: {type(error).__name__}: {error}")
            fault.__cause__ = error
            self._lose(fault)
            if self._socket is not None:
                self._socket.transport.abort()

    async def _read(self, socket: ClientConnection) -> None:
        async for message in socket:
            self._heard_at = self.now()
            self._session.receive(message, self._heard_at)
            self._handle_events()
            self._wake.set()
        self._lose_socket()

    async def _write(self, socket: ClientConnection) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while await self._send_due(socket):
                pass
            if self._leaving or self._fault is not None:
                return
            self._arm()

    async def _send_due(self, socket: ClientConnection) -> bool:
        """Send what may leave now; tells whether there was anything."""
        session = self._session
        now = self.now()
        if now >= session.next_timer(now):
            session.handle_timer(now)
            self._handle_events()
        # A send waits while the buffer is over its bound, so here is always room for a frame.
        room = self._config.write_buffer_bytes - self.unsent_bytes
        frames = session.take_frames(now, room_bytes=max(room, 1))
        for frame in frames:
            await socket.send(frame)
        if frames:
            for channel in self._channels.values():
                channel.progressed()
        return bool(frames)

    def _arm(self) -> None:
        due = self._session.next_timer(self.now())
        if due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer, self._timer_at = None, math.inf
        self._wake.set()

    def _lose_socket(self) -> None:
        assert self._socket is not None  # noqa: S101  (a task of ours ran on it)
        code, text = self._socket.close_code, self._socket.close_reason
        if code == Draining.close_code:
            self._lose(Draining("the server went away; connect again"))
        else:
            said = f", {text}" if text else ""
            self._lose(ConnectionLost(f"the connection was lost (close code {code}{said})"))

    def _lose(self, error: LegatoError) -> None:
        """The connection is gone; its streams end with it."""
        if self._fault is not None:
            return
        self._fault = error
        if not self._welcomed.done():
            self._welcomed.set_exception(error)
            self._welcomed.exception()  # it is raised by `open`, or by nobody
        for channel in list(self._channels.values()):
            channel.fail(error)
        self._channels.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._wake.set()

    # events

    def _handle_events(self) -> None:
        for event in self._session.take_events():
            self._HANDLERS[type(event)](self, event)

    def _on_welcomed(self, event: Welcomed) -> None:
        if not self._welcomed.done():
            self._welcomed.set_result(None)

    def _on_opened(self, event: StreamOpened) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.opened(event.started)

    def _on_received(self, event: Received) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.receive(event.items)

    def _on_progressed(self, event: Progressed | StreamRecovered) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.progressed()

    def _on_finished(self, event: StreamFinished) -> None:
        channel = self._channels.pop(event.stream, None)
        if channel is not None:
            channel.finish_with(event.end, intact=event.intact)

    def _on_failed(self, event: StreamFailed) -> None:
        channel = self._channels.pop(event.stream, None)
        if channel is not None:
            channel.fail(event.error)

    def _on_noticed(self, event: Noticed) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.notice(event.notice)

    def _on_paced(self, event: Paced) -> None:
        """The session obeys by itself."""

    def _on_drain(self, event: DrainAnnounced) -> None:
        self._draining = True

    def _on_session_failed(self, event: SessionFailed | LinkStalled) -> None:
        self._lose(event.error)
        if self._socket is not None:
            self._socket.transport.abort()

    _HANDLERS: ClassVar[Mapping[type, Callable[[Connection, Any], None]]] = {
        Welcomed: _on_welcomed,
        StreamOpened: _on_opened,
        StreamRecovered: _on_progressed,
        Received: _on_received,
        Progressed: _on_progressed,
        StreamFinished: _on_finished,
        StreamFailed: _on_failed,
        Noticed: _on_noticed,
        Paced: _on_paced,
        DrainAnnounced: _on_drain,
        LinkStalled: _on_session_failed,
        SessionFailed: _on_session_failed,
    }
