"""A WebSocket client that costs next to nothing: for a load generator, on blocking sockets.

Frames go out whole and with a mask of zeros, which RFC 6455 (section 5.3) permits nobody who fears
a proxy: the server unmasks them as any others, and the generator need not touch the audio. Frames
come in unmasked and unfragmented from every server that is measured; anything else is an error.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

TIMEOUT: Final = 30.0
"""Seconds for each step of the opening."""

MAX_HEADER_BYTES: Final = 16_384
READ_BYTES: Final = 262_144

_MASK: Final = b"\0\0\0\0"
_SHORT, _LONG = 126, 127
_FIN, _MASKED = 0x80, 0x80
_OPCODE: Final = 0x0F

Message = tuple[int, bytes]
"""Opcode and payload."""


class BadServer(Exception):
    """A server answers what no client of its kind expects."""


def frame(opcode: int, payload: bytes) -> bytes:
    """Return one whole frame."""
    size = len(payload)
    if size < _SHORT:
        head = struct.pack("!BB", _FIN | opcode, _MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", _FIN | opcode, _MASKED | _SHORT, size)
    else:
        head = struct.pack("!BBQ", _FIN | opcode, _MASKED | _LONG, size)
    return head + _MASK + payload


class Reassembly:
    """Cuts what comes from a server into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> list[Message]:
        """Return the messages that are whole now.

        Raises:
            BadServer: If a frame is masked or part of a message.
        """
        if self._rest:
            data = self._rest + data
        found: list[Message] = []
        at, end = 0, len(data)
        while at + 2 <= end:
            body, size = _extent(data, at)
            if body + size > end:
                break
            found.append((data[at] & _OPCODE, data[body : body + size]))
            at = body + size
        self._rest = data[at:]
        return found


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Return where the payload of the frame at `at` begins, and how long it is.

    Where the header has not come whole the payload begins behind the end of `data`.
    """
    size = data[at + 1]
    if size > _LONG or not data[at] & _FIN:
        raise BadServer("a server's frame is masked or in parts")
    if size < _SHORT:
        return at + 2, size
    body = at + (4 if size == _SHORT else 10)
    return body, int.from_bytes(data[at + 2 : body], "big")


class Dialled:
    """A connection while it is being opened.

    Args:
        address: Host and port.
        path: Of the request.
        source: Address of this machine to come from; empty for any.
    """

    def __init__(self, address: str, path: str, source: str = "") -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), TIMEOUT, source_address=(source, 0) if source else None
        )
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.parts = Reassembly()
        self._ready: list[Message] = []
        self._upgrade(address, path)

    def send(self, opcode: int, payload: bytes | str) -> None:
        """Send one message."""
        data = payload.encode() if isinstance(payload, str) else payload
        self.socket.sendall(frame(opcode, data))

    def receive(self) -> Message:
        """Wait for a message; pings are answered on the way.

        Raises:
            BadServer: If the server closes.
            TimeoutError: If nothing comes.
        """
        while True:
            while not self._ready:
                data = self.socket.recv(READ_BYTES)
                if not data:
                    raise BadServer("the server closed while the stream was being opened")
                self._ready = self.parts.take(data)
            opcode, payload = self._ready.pop(0)
            if opcode == CLOSE:
                raise BadServer(f"the server closed: {payload[2:].decode(errors='replace')}")
            if opcode != PING:
                return opcode, payload
            self.send(PONG, payload)

    def _upgrade(self, address: str, path: str) -> None:
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        answer = b""
        while b"\r\n\r\n" not in answer:
            data = self.socket.recv(4096)
            answer += data
            if not data or len(answer) > MAX_HEADER_BYTES:
                raise BadServer(f"the server refuses the WebSocket: {answer[:200]!r}")
        header, _, rest = answer.partition(b"\r\n\r\n")
        if b" 101 " not in header.split(b"\r\n", 1)[0]:
            raise BadServer(f"the server refuses the WebSocket: {header[:200]!r}")
        self._ready = self.parts.take(rest)
