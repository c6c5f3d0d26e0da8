"""Legato as several processes for a benchmark: Redis, gateways, workers, or all of it in one."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import Final

from legato.bench.machine import cpu_seconds
from legato.bench.process import Running, ServerFailed, server

NO_REDIS: Final = "redis-server is not installed (Debian: apt-get install redis-server)"

SETTINGS: Final = """\
[gateway]
max_connections = 20000
resume_window = {resume_window}

[worker]
echo_slots = 20000
engines = [{{ kind = "recognize", name = "tone" }}]
synthesizers = []
recognizers = ["tone"]
"""
"""Room for every load, and no engine that an echo does not need."""

NO_REPORTS: Final[Mapping[str, str]] = MappingProxyType({})
QUIET: Final = ("--log-level", "warning")


@dataclass(frozen=True, slots=True)
class Stack:
    """Processes that serve together.

    Attributes:
        running: The one that clients connect to.
        pids: All of them, by what they are.
        redis_url: Of their bus; empty without Redis.
    """

    running: Running
    pids: Mapping[str, int]
    redis_url: str = ""

    def cpu(self) -> dict[str, float]:
        """Return the seconds of CPU so far, children included, of each process."""
        return {name: cpu_seconds(pid) for name, pid in self.pids.items()}


@asynccontextmanager
async def embedded(
    *, resume_window: float = 30.0, flags: tuple[str, ...] = ()
) -> AsyncIterator[Stack]:
    """Run `legato serve` with the embedded bus.

    Args:
        resume_window: Seconds that a stream outlives its connection.
        flags: More of them.
    """
    async with AsyncExitStack() as stack:
        config = await stack.enter_async_context(settings_file(resume_window))
        command = legato("serve", "--port", "0", *QUIET, "--config", config, *flags)
        running = await stack.enter_async_context(server(command, ready=b"ready after"))
        yield Stack(running, MappingProxyType({"server": running.pid}))


@asynccontextmanager
async def shared(
    *, resume_window: float = 30.0, reports: Mapping[str, str] = NO_REPORTS
) -> AsyncIterator[Stack]:
    """Run Redis without persistence, one gateway and one worker.

    Args:
        resume_window: Seconds that a stream outlives its connection.
        reports: Files that `gateway` and `worker` say into what they hold (`observed`), if any.

    Raises:
        ServerFailed: If one of them does not start.
    """
    async with AsyncExitStack() as stack:
        config = await stack.enter_async_context(settings_file(resume_window))
        redis, url = await stack.enter_async_context(redis_server())
        common = ("--bus", url, *QUIET, "--config", config)
        command = legato("worker", *common, report=reports.get("worker"))
        worker = await stack.enter_async_context(
            server(command, ready=b"ready after", listens=False)
        )
        command = legato("gateway", "--port", "0", *common, report=reports.get("gateway"))
        gateway = await stack.enter_async_context(server(command, ready=b"ready after"))
        pids = {"gateway": gateway.pid, "worker": worker.pid, "redis-server": redis.pid}
        yield Stack(gateway, MappingProxyType(pids), url)


@asynccontextmanager
async def redis_server() -> AsyncIterator[tuple[Running, str]]:
    """Run a Redis of the benchmark's own, without persistence; return it and its address.

    Raises:
        ServerFailed: If there is none, or it does not start.
    """
    program = await asyncio.to_thread(shutil.which, "redis-server")
    if program is None:
        raise ServerFailed(NO_REDIS)
    port = _free_port()
    options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
    async with folder() as directory:
        command = [program, *options, "--maxclients", "9000"]
        ready = b"Ready to accept connections"
        async with server(command, ready=ready, listens=False, cwd=directory) as running:
            yield running, f"redis://127.0.0.1:{port}/0"


def legato(*arguments: str, report: str | None = None) -> list[str]:
    """Return the command line of this installation's `legato`.

    Args:
        arguments: Of the command.
        report: File that it says into what it holds, if that is wanted.
    """
    program = ["legato"] if report is None else ["legato.bench.observed", report]
    return [sys.executable, "-m", *program, *arguments]


@asynccontextmanager
async def folder() -> AsyncIterator[Path]:
    """Make a folder that is gone with the block."""
    path = Path(await asyncio.to_thread(mkdtemp, prefix="legato-bench-"))
    try:
        yield path
    finally:
        await asyncio.to_thread(shutil.rmtree, path)


@asynccontextmanager
async def settings_file(resume_window: float, template: str = SETTINGS) -> AsyncIterator[str]:
    """Write the settings of a run, and return where.

    Args:
        resume_window: Seconds that a stream outlives its connection.
        template: All of them.
    """
    async with folder() as directory:
        path = directory / "legato.toml"
        text = template.format(resume_window=resume_window)
        await asyncio.to_thread(path.write_text, text, "utf-8")
        yield str(path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
