import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from legato.cli.probe import UNKNOWN, answers, readiness
from legato.protocol.version import SUBPROTOCOL

PAGE = ("HTTP/1.1 426 \r\n\r\n", f"speak {SUBPROTOCOL} here")


@asynccontextmanager
async def server(page: tuple[str, ...] = (), ready: tuple[str, ...] = ()) -> AsyncIterator[int]:
    """A server that answers with these segments."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        for segment in ready if b" /readyz " in request else page:
            writer.write(segment.encode())
            await writer.drain()
            await asyncio.sleep(0)  # so that the next is a segment of its own
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("page", "known"),
    [
        (PAGE, True),
        (("HTTP/1.1 426 \r\n\r\n", f"speak {SUBPROTOCOL[:4]}", f"{SUBPROTOCOL[4:]} here"), True),
        (("HTTP/1.1 404 \r\n\r\n", "nothing here"), False),
        ((), False),
    ],
)
async def test_the_whole_answer_is_read(page: tuple[str, ...], known: bool) -> None:
    async with server(page, ("HTTP/1.1 200 OK\r\n\r\n", "ready\n")) as port:
        assert await answers("127.0.0.1", port) is known
        assert await readiness("127.0.0.1", port) == ("ready" if known else None)


@pytest.mark.parametrize(
    ("ready", "said"),
    [
        (("HTTP/1.1 503 \r\na: b\r\n\r\n", "drain", "ing\n"), "draining"),
        (("HTTP/1.1 503 \r\n\r\n", "engines are loading\n"), "engines are loading"),
        (("HTTP/1.1 200 OK\r\n\r\n",), UNKNOWN),
        ((), UNKNOWN),
    ],
)
async def test_a_server_says_how_it_is(ready: tuple[str, ...], said: str) -> None:
    async with server(PAGE, ready) as port:
        assert await readiness("127.0.0.1", port) == said


async def test_a_port_without_a_server_does_not_answer() -> None:
    async with server() as port:
        pass
    assert not await answers("127.0.0.1", port)
    assert await readiness("127.0.0.1", port) is None
