import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from legato.bench.process import Running, ServerFailed, server

pytestmark = pytest.mark.integration

ANSWERS = (
    "print('on ws://127.0.0.1:8440, ready', flush=True); input_ = __import__('time').sleep(60)"
)


def folder_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/cwd").resolve()


async def test_a_server_is_found_by_what_it_prints_and_ended_with_the_block() -> None:
    async with server([sys.executable, "-c", ANSWERS], ready=b"ready") as running:
        assert running.url == "ws://127.0.0.1:8440"
        assert running.http == "http://127.0.0.1:8440"
        assert running.ready_after > 0


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ServerFailed, match="no-such-program cannot be run: No such file"):
        async with server(["no-such-program"], ready=b"ready"):
            pass


async def test_a_program_that_does_not_listen_runs_where_it_is_told(tmp_path: Path) -> None:
    says = "import os; print('ready', os.getcwd(), flush=True); open('seen', 'w').close()"
    command = [sys.executable, "-c", f"{says}; __import__('time').sleep(60)"]
    async with server(command, ready=b"ready", listens=False, cwd=tmp_path) as running:
        assert running.address == ""
        assert folder_of(running.pid).name == tmp_path.name


@pytest.mark.parametrize("program", ["print('no luck')", "print('ready, but where?')"])
async def test_a_server_that_does_not_start_is_told_with_its_words(program: str) -> None:
    with pytest.raises(ServerFailed, match="did not start; it said: "):
        async with server([sys.executable, "-c", program], ready=b"ready"):
            pass


@asynccontextmanager
async def answering(status: str) -> AsyncIterator[Running]:
    """Somebody who answers everything with this status and what was asked for."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status.encode(), len(path)))
        writer.write(path)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield Running(pid=0, address=f"{host}:{port}", ready_after=0.0)


async def test_a_server_is_asked_for_a_path() -> None:
    async with answering("200 OK") as running:
        assert await running.get("/metrics") == b"/metrics"


async def test_a_server_that_is_not_ready_is_not_believed() -> None:
    async with answering("503 Service Unavailable") as running:
        with pytest.raises(OSError, match="503"):
            await running.get("/readyz")
