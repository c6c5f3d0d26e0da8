"""The proxy that cuts, between a client and an echo over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from legato.bench.cutter import Cut, Cutter, Direction
from tests.unit.client.fakes import settle

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1_000):
            writer.write(data)
    except ConnectionResetError:
        pass
    writer.close()


@asynccontextmanager
async def cutting() -> AsyncIterator[Cutter]:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Cutter(server.sockets[0].getsockname()[1]) as cutter:
        yield cutter


async def connected(cutter: Cutter) -> Ends:
    return await asyncio.open_connection("127.0.0.1", cutter.port)


async def answer(ends: Ends, data: bytes) -> bytes:
    reader, writer = ends
    writer.write(data)
    return await reader.readexactly(len(data))


async def test_what_is_not_cut_passes() -> None:
    async with cutting() as cutter:
        ends = await connected(cutter)
        assert await answer(ends, b"hello") == b"hello"
        assert cutter.passed == {Direction.UP: 5, Direction.DOWN: 5}
        assert (cutter.made, cutter.cuts, cutter.happened.is_set()) == (1, 0, False)
        ends[1].close()


async def test_a_reset_is_one_and_a_close_is_one() -> None:
    async with cutting() as cutter:
        ends = await connected(cutter)
        await answer(ends, b"hello")
        cutter.cut(Cut.RESET)
        with pytest.raises(ConnectionResetError):
            await ends[0].read()
        ends = await connected(cutter)
        await answer(ends, b"hello")
        cutter.cut(Cut.CLOSE)
        assert await ends[0].read() == b""
        assert (cutter.cuts, cutter.happened.is_set()) == (2, True)
        ends[1].close()


async def test_silence_passes_nothing_and_the_next_connection_is_as_good_as_new() -> None:
    async with cutting() as cutter:
        silent = await connected(cutter)
        await answer(silent, b"hello")
        cutter.cut(Cut.SILENCE)
        silent[1].write(b"anybody?")
        fresh = await connected(cutter)
        assert await answer(fresh, b"hello") == b"hello"
        assert cutter.passed[Direction.UP] == 10
        for _, writer in (silent, fresh):
            writer.close()


async def test_in_the_dark_connections_are_made_that_never_speak() -> None:
    async with cutting() as cutter:
        cutter.darken()
        dark = await connected(cutter)
        dark[1].write(b"anybody?")
        await settle(lambda: cutter.made == 1)
        cutter.lighten()
        light = await connected(cutter)
        assert await answer(light, b"hello") == b"hello"
        assert cutter.passed[Direction.UP] == 5
        for _, writer in (dark, light):
            writer.close()


async def test_a_cut_may_fall_in_the_middle_of_what_is_said() -> None:
    async with cutting() as cutter:
        reader, writer = await connected(cutter)
        cutter.cut_after(3, Direction.DOWN, Cut.CLOSE)
        writer.write(b"hello")
        assert await reader.read() == b"hel"
        writer.close()


async def test_a_server_that_is_gone_is_a_reset() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with Cutter(port) as cutter:
        reader, writer = await connected(cutter)
        assert cutter.url == f"ws://127.0.0.1:{cutter.port}"
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
