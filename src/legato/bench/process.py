"""Servers as real processes: started, found by the address they print, ended by their id."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

START_TIMEOUT = 60.0
ANSWER_TIMEOUT = 10.0
STOP_TIMEOUT = 15.0
MAX_LINE_BYTES = 1 << 20
_ADDRESS = re.compile(rb"ws://([\w.:\[\]-]+:\d+)")


class ServerFailed(Exception):
    """A server did not start; the sentence holds what it printed."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs.

    Attributes:
        pid: Its process.
        address: Host and port; empty if it does not listen.
        ready_after: Seconds from its start until it said that it is ready.
    """

    pid: int
    address: str
    ready_after: float

    @property
    def url(self) -> str:
        """Where WebSockets connect to."""
        return f"ws://{self.address}"

    @property
    def http(self) -> str:
        """Where everything else does."""
        return f"http://{self.address}"

    async def get(self, path: str) -> bytes:
        """Ask for what stands at a path.

        Raises:
            OSError: If it does not answer, or with an error.
        """
        return await asyncio.to_thread(_fetch, f"{self.http}{path}")


def _fetch(url: str) -> bytes:
    with urlopen(url, timeout=ANSWER_TIMEOUT) as answer:  # noqa: S310  (http, of our own server)
        return bytes(answer.read())


@asynccontextmanager
async def legato_server(*flags: str) -> AsyncIterator[Running]:
    """Run `legato serve` on a free port, engines warm, for the length of the block.

    Raises:
        ServerFailed: If it does not start.
    """
    command = [sys.executable, "-m", "legato", "serve", "--port", "0", "--log-level", "warning"]
    async with server([*command, *flags], ready=b"ready after") as running:
        yield running


@asynccontextmanager
async def server(
    command: Sequence[str],
    *,
    ready: bytes,
    listens: bool = True,
    cwd: Path | None = None,
) -> AsyncIterator[Running]:
    """Run a server for the length of the block.

    Args:
        command: Program and arguments.
        ready: What it prints when it can be used.
        listens: Whether it prints a `ws://` address.
        cwd: Where it runs, if not here.

    Raises:
        ServerFailed: If it cannot be run, ends, or says nothing in time.
    """
    began = time.perf_counter()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=MAX_LINE_BYTES,
            cwd=cwd,
        )
    except OSError as error:
        raise ServerFailed(f"{command[0]} cannot be run: {error.strerror}") from error
    assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
    drain: asyncio.Task[None] | None = None
    try:
        printed = await _read_until(process.stdout, ready)
        took = time.perf_counter() - began
        address = _ADDRESS.search(printed)
        if ready not in printed or (listens and address is None):
            said = printed.decode(errors="replace").strip()[-2000:] or "nothing"
            raise ServerFailed(f"{' '.join(command)} did not start; it said: {said}")
        drain = asyncio.create_task(_drain(process.stdout))
        yield Running(process.pid, address[1].decode() if address else "", took)
    finally:
        await _end(process)
        if drain is not None:
            drain.cancel()


async def _read_until(pipe: asyncio.StreamReader, ready: bytes) -> bytes:
    printed = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_TIMEOUT):
            while ready not in printed and (line := await pipe.readline()):
                printed += line
    return printed


async def _drain(pipe: asyncio.StreamReader) -> None:
    """Read on, so that the server never waits for a full pipe."""
    while await pipe.read(65_536):
        pass


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):  # it may have ended at this moment
            process.kill()
        await process.wait()
