import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from legato.cli.probe import answers
from legato.protocol.version import SUBPROTOCOL


@asynccontextmanager
async def server(*segments: str) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for segment in segments:
            writer.write(segment.encode())
            await writer.drain()
            await asyncio.sleep(0)  # so that the next is a segment of its own
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        (("HTTP/1.1 426 \r\n\r\n", f"speak {SUBPROTOCOL} here"), True),
        (("HTTP/1.1 426 \r\n\r\n", f"speak {SUBPROTOCOL[:4]}", f"{SUBPROTOCOL[4:]} here"), True),
        (("HTTP/1.1 404 \r\n\r\n", "nothing here"), False),
        ((), False),
    ],
)
async def test_the_whole_answer_is_read(segments: tuple[str, ...], expected: bool) -> None:
    async with server(*segments) as port:
        assert await answers("127.0.0.1", port) is expected


async def test_a_port_without_a_server_does_not_answer() -> None:
    async with server() as port:
        pass
    assert not await answers("127.0.0.1", port)
