"""Whether a Legato server listens on a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from legato.protocol.version import SUBPROTOCOL

PROBE_TIMEOUT: Final = 0.5
"""Seconds for the whole answer."""

MAX_ANSWER_BYTES: Final = 16_384

STREAM: Final = "/v1/stream"
"""Draws the page that names the protocol, as a GET is no WebSocket handshake."""

READY: Final = "/readyz"

UNKNOWN: Final = "it does not say how it is"


async def answers(host: str, port: int) -> bool:
    """Whether a Legato server answers there, without TLS."""
    return SUBPROTOCOL in await _answer(host, port, STREAM, enough=SUBPROTOCOL)


async def readiness(host: str, port: int) -> str | None:
    """Ask a Legato server how it is.

    Returns:
        `ready`, `draining` or another word of its /readyz; None if no Legato server answers there
        without TLS.
    """
    if not await answers(host, port):
        return None
    _, _, body = (await _answer(host, port, READY)).partition("\r\n\r\n")
    said = body.strip().splitlines()
    return said[0] if said else UNKNOWN


async def _answer(host: str, port: int, path: str, *, enough: str | None = None) -> str:
    """Return what comes in time, head and body, up to what is `enough`; nothing from nobody."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = bytearray()
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            reader, writer = await asyncio.open_connection(host, port)
            with contextlib.closing(writer):
                writer.write(request.encode())
                while len(answer) < MAX_ANSWER_BYTES and (data := await reader.read(4096)):
                    answer += data
                    if enough is not None and enough.encode() in answer:
                        break
    except (OSError, TimeoutError):
        pass  # what came until then is what there is
    return answer.decode(errors="replace")
