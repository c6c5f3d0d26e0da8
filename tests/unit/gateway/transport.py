"""A transport that keeps what is written, and uvicorn's parts around it."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from legato.gateway.socket import SpeechSocket

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


class FakeTransport(asyncio.Transport):
    """Keeps what is written; closes at once, unless a peer that does not read is played."""

    def __init__(self, *, eof: bool = True) -> None:
        super().__init__()
        self.written = bytearray()
        self.unsent = 0
        self.closing = False
        self.aborted = False
        self.eof_written = False
        self.reading = True
        self.high: int | None = None
        self._eof = eof

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.eof_written = True

    def can_write_eof(self) -> bool:
        return self._eof

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_reading(self) -> bool:
        return self.reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def take(self) -> bytes:
        """Take what was written since the last time."""
        written = bytes(self.written)
        self.written.clear()
        return written


def config(app: ASGIApp, **more: Any) -> uvicorn.Config:
    """As the gateway's server sets it."""
    made = uvicorn.Config(
        app,
        interface="asgi3",
        ws=SpeechSocket,
        ws_max_size=262_144,
        ws_per_message_deflate=False,
        ws_ping_interval=None,
        lifespan="off",
        log_config=None,
        log_level="error",
        **more,
    )
    made.load()
    return made


def state() -> ServerState:
    return ServerState()


def handshake(*headers: str, target: str = "/v1/stream") -> bytes:
    """The request that opens a WebSocket."""
    lines = (
        f"GET {target} HTTP/1.1",
        "Host: here",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {KEY}",
        "Sec-WebSocket-Version: 13",
        *headers,
        "",
        "",
    )
    return "\r\n".join(lines).encode()


TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(payload: bytes, opcode: int = BINARY, *, fin: bool = True, declared: int = -1) -> bytes:
    """A masked frame; `declared` is the length that its header tells (RFC 6455 §5.2)."""
    size = len(payload) if declared < 0 else declared
    head = bytes([opcode | (0x80 if fin else 0)])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65_536:
        head += bytes([0xFE]) + struct.pack(">H", size)
    else:
        head += bytes([0xFF]) + struct.pack(">Q", size)
    return head + bytes(4) + payload


def close_code(data: bytes) -> int:
    """The code of the close frame that `data`, from a server, ends with."""
    start = data.rindex(b"\x88")
    return int(struct.unpack(">H", data[start + 2 : start + 4])[0])
