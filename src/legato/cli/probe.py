"""Whether a Legato server listens on a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from legato.protocol.version import SUBPROTOCOL

PROBE_TIMEOUT: Final = 0.5
"""Seconds for the whole answer."""

MAX_ANSWER_BYTES: Final = 16_384

REQUEST: Final = b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
"""Draws the page that names the protocol, as it is no WebSocket handshake."""


async def answers(host: str, port: int) -> bool:
    """Whether a Legato server answers there, without TLS."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            reader, writer = await asyncio.open_connection(host, port)
            with contextlib.closing(writer):
                writer.write(REQUEST)
                return await _names_protocol(reader)
    except (OSError, TimeoutError):
        return False


async def _names_protocol(reader: asyncio.StreamReader) -> bool:
    answer = bytearray()
    while len(answer) < MAX_ANSWER_BYTES and (data := await reader.read(4096)):
        answer += data
        if SUBPROTOCOL.encode() in answer:
            return True
    return False
