"""The gateway's side of a socket: uvicorn's WebSocket, bounded and without a queue between.

uvicorn's WebSocket protocol puts each message in a queue for a task, and lets about 4 MB
pass into kernel buffers before a send waits (study performance §6). Here a message goes
straight to a sink, several frames leave in one write, and what the kernel may hold is small, so
that a cancel still finds the rest in the session. A peer that does not read cannot hold a
connection: what it is owed is dropped soon after the close.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, Final, Literal

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.protocol import OPEN

from legato.gateway.framing import framed, take_whole
from legato.gateway.ports import Sink

NOTSENT_LOWAT_BYTES: Final = 32_768
SEND_BUFFER_BYTES: Final = 65_536
WRITE_HIGH_BYTES: Final = 16_384

CLOSE_LINGER: Final = 3.0
"""Seconds for a peer to answer a close, and to read what is written before it."""

BROKEN_LINGER: Final = 1.0
"""Seconds for a peer that broke the framing to read why."""

TURN_SECONDS: Final = 0.002
"""What reading one connection may take of a loop's turn; the rest waits for the next turn."""

TURN_MESSAGES: Final = 64
"""Messages that are handed over between two looks at the clock."""

SLICE_BYTES: Final = 1024
"""What the general parser gets between two looks at the clock: at most 170 empty frames."""

BAD_REQUEST: Final = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

_TCP_NOTSENT_LOWAT: Final = getattr(socket, "TCP_NOTSENT_LOWAT", 25)


class SpeechSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose messages go to a sink; `scope["state"]["socket"]` in the application.

    Who sends faster than its messages are taken waits: what one read brought beyond its turn is
    kept, and no more is read, while the other connections have their turns.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sink: Sink | None = None
        self._partial: bytearray | None = None
        self._backlog = b""
        self._held = False
        self._turn: asyncio.Handle | None = None

    # what uvicorn and the transport call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        bound_buffers(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._held = False
        if self._backlog:
            self._go_on_soon()  # what came before is not lost
        elif self.sink is not None:
            self.sink.lost()

    def data_received(self, data: bytes) -> None:
        if self._backlog:  # read before the pause took effect
            self._backlog += data
            self._pause_reading()
            return
        rest = self._take_some(data)
        if rest:
            rest = self._take_more(rest)
        if not self.handshake_initiated:
            self._refuse_handshake()
        if rest:
            self._backlog = rest
            self._pause_reading()
            self._go_on_soon()
        self._end_turn()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.close_sent or self.transport.is_closing():
            # uvicorn leaves it open when it has refused, or the peer is gone, and logs an error.
            self.handshake_complete = True

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.sink is not None:
            self.sink.flush()

    def shutdown(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()
        elif self.close_timer is not None:  # it has said goodbye, and is slow to leave
            self.close_timer.cancel()
            self.close_timer = None
        self._await_end(BROKEN_LINGER)  # uvicorn calls it an error if it waits longer

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope["state"]["socket"] = self

    def handle_text(self, event: Any) -> None:
        self._take_first("text", event)

    def handle_bytes(self, event: Any) -> None:
        self._take_first("bytes", event)

    def handle_cont(self, event: Any) -> None:
        # One buffer, not a list: empty fragments cost nothing, however many come.
        partial = self._partial
        if partial is None:
            return
        partial += event.data
        if event.fin:
            self._partial = None
            self._hand_over(bytes(partial))

    def handle_ping(self) -> None:
        """Leave the pong to the end of what is being parsed: one write for many."""

    def handle_close(self, event: Any) -> None:
        super().handle_close(event)
        self._await_end()

    def handle_parser_exception(self) -> None:
        """Close, and go on reading: a reset by unread bytes would hide the close frame."""
        if self.close_sent:
            return
        self.close_sent = True
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.resume()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._await_end(BROKEN_LINGER)

    # what the application calls

    def attach(self, sink: Sink) -> None:
        """Hand everything from now on to `sink`, what came early first."""
        self.sink = sink
        del self.request, self.response, self.scope  # headers: 6 kB for as long as it lives
        while not self.queue.empty():
            event: Any = self.queue.get_nowait()
            if event["type"] == "websocket.receive":
                sink.receive(event["text"] if event.get("text") is not None else event["bytes"])
        if self.disconnected or self.transport.is_closing():
            sink.flush()
            sink.lost()
            return
        self.resume()
        sink.flush()

    @property
    def unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size()

    @property
    def is_writable(self) -> bool:
        return self.writable.is_set()

    @property
    def closed_by_peer(self) -> bool:
        return self.conn.close_rcvd is not None

    def write(self, frames: Sequence[str | bytes]) -> None:
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        if self.conn.state is OPEN:
            self.transport.write(framed(frames))

    def close(self, code: int, reason: str = "") -> None:
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        try:
            self.conn.send_close(code, reason)
        except InvalidState:
            return
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.resume()
        self._await_end()

    def pause(self) -> None:
        self._held = True
        self._pause_reading()

    def resume(self) -> None:
        self._held = False
        if self._backlog:
            self._go_on_soon()
        else:
            self._resume_reading()

    # turns

    def _take_some(self, data: bytes) -> bytes:
        """Take the messages at the beginning of `data`, not too many; return what is left."""
        conn, sink = self.conn, self.sink
        if (
            sink is not None
            and conn.state is OPEN
            and conn.current_size is None
            and not conn.reader.buffer  # else it waits for the rest of a frame
        ):
            messages, rest = take_whole(data, self.config.ws_max_size, TURN_MESSAGES)
            for message in messages:
                if not self.close_sent:
                    sink.receive(message)
            if messages:
                return rest
        self._parse(data[:SLICE_BYTES])
        return data[SLICE_BYTES:]

    def _take_more(self, data: bytes) -> bytes:
        """Take messages until the turn is over or nobody wants more; return what is left."""
        until = self.loop.time() + TURN_SECONDS
        while data and not self._held:
            data = self._take_some(data)
            if data and self.sink is not None:
                self.sink.flush()
            if self.loop.time() >= until:
                break
        return data

    def _parse(self, data: bytes) -> None:
        super().data_received(data)
        answers = self.conn.data_to_send()
        # Who pings and does not read is owed nothing.
        if answers and self.is_writable and not self.disconnected:
            self.transport.write(b"".join(answers))

    def _end_turn(self) -> None:
        sink = self.sink
        if sink is None:
            return
        sink.flush()
        if not self._backlog and (self.close_sent or self.transport.is_closing()):
            sink.lost()

    def _go_on_soon(self) -> None:
        if self._turn is None:
            self._turn = self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Take a turn of what was read before."""
        self._turn = None
        self._backlog = self._take_more(self._backlog)
        if self._backlog and not self._held:
            self._go_on_soon()
        elif not self._backlog and not self._held:
            self._resume_reading()
        self._end_turn()

    def _pause_reading(self) -> None:
        if not self.read_paused and not self.transport.is_closing():
            self.read_paused = True
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if self.read_paused and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    # details

    def _take_first(self, kind: Literal["text", "bytes"], event: Any) -> None:
        self.curr_msg_data_type = kind
        if event.fin:
            self._hand_over(event.data)
        else:
            self._partial = bytearray(event.data)

    def _hand_over(self, data: bytes) -> None:
        if self.close_sent:
            return
        # Broken UTF-8 reaches the codec as surrogates, which refuses it by name.
        text = self.curr_msg_data_type == "text"
        message = data.decode("utf-8", "surrogateescape") if text else data
        if self.sink is not None:
            self.sink.receive(message)
            return
        event: Any = {"type": "websocket.receive", "text" if text else "bytes": message}
        self.queue.put_nowait(event)
        self.pause()

    def _refuse_handshake(self) -> None:
        """Answer a header that uvicorn hands over and websockets cannot read: too long a line."""
        if not self.transport.is_closing():
            self.transport.write(BAD_REQUEST)
            self.transport.close()

    def _await_end(self, linger: float = CLOSE_LINGER) -> None:
        """Drop the peer if it does not end the connection in time."""
        if self.close_timer is None and not self.disconnected:
            self.close_timer = self.loop.call_later(linger, self.transport.abort)


def bound_buffers(transport: asyncio.Transport) -> None:
    """Let the kernel hold about 170 kB instead of 4 MB (study performance §6, measured)."""
    transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
    raw = transport.get_extra_info("socket")
    if raw is None or raw.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES)
