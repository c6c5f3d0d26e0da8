"""Ten thousand connections that do nothing but ping: memory and CPU of the server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.idlers import Crowd
from legato.bench.machine import cpu_seconds, raise_open_files, rss_bytes
from legato.bench.process import ServerFailed
from legato.bench.row import Figure, Row
from legato.bench.stack import embedded

CONNECTIONS: Final = 10_000
SOURCES: Final = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
"""One client process each."""

PING_EVERY: Final = 30.0
"""Seconds: what `heartbeat.idle` asks of a client."""

SPARE_FILES: Final = 500
OPEN_TIMEOUT: Final = 90.0
SETTLE: Final = 2.0
WATCHED: Final = 15.0
MEMORY: Final = Figure("idle.10000.memory", "KiB", 40.0)
CPU: Final = Figure("idle.10000.cpu", "%", 4.0)


async def measure(setup: Setup) -> list[Row]:
    """Open the connections from several processes, and watch the server for a while."""
    wanted = setup.times(CONNECTIONS, 100)
    count = min(wanted, raise_open_files(wanted + SPARE_FILES) - SPARE_FILES)
    share = count // len(SOURCES)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(embedded())
        pid, address = server.running.pid, server.running.address
        async with idlers(Crowd(address=address, source=SOURCES[0], count=3, ping_every=1.0)):
            before = rss_bytes(pid)
        for source in SOURCES:
            setup.tell(f"opening {share} connections from {source}")
            crowd = Crowd(address=address, source=source, count=share, ping_every=PING_EVERY)
            await stack.enter_async_context(idlers(crowd))
        await asyncio.sleep(SETTLE)
        cost = (rss_bytes(pid) - before) / (share * len(SOURCES)) / 1024
        setup.tell("watching")
        seconds = setup.times(int(WATCHED), 2)
        cpu = cpu_seconds(pid)
        await asyncio.sleep(seconds)
        cpu = cpu_seconds(pid) - cpu
    about = f"{share * len(SOURCES)} connections from {len(SOURCES)} processes that said hello"
    beats = f"each pings every {PING_EVERY:g} s, as `heartbeat.idle` asks; over {seconds} s"
    return [
        MEMORY.row(cost, note=f"growth of the server's resident memory; {about}"),
        CPU.row(cpu / seconds * 100, note=f"of one core; {about}; {beats}"),
    ]


@asynccontextmanager
async def idlers(crowd: Crowd) -> AsyncIterator[None]:
    """Keep a crowd of idle clients for the length of the block.

    Raises:
        ServerFailed: If they cannot all connect.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.bench.idlers",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None  # noqa: S101  (pipes were asked for)
    assert process.stdout is not None  # noqa: S101  (as above)
    assert process.stderr is not None  # noqa: S101  (as above)
    try:
        process.stdin.write(msgspec.json.encode(crowd) + b"\n")
        async with asyncio.timeout(OPEN_TIMEOUT):
            line = await process.stdout.readline()
        if line.strip() != b"open":
            said = (await process.stderr.read()).decode(errors="replace").strip()
            raise ServerFailed(f"idle connections are refused: {said.splitlines()[-1:]}")
        yield
        if process.returncode is not None:
            said = (await process.stderr.read()).decode(errors="replace").strip()
            raise ServerFailed(f"idle connections were lost: {said.splitlines()[-1:]}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


BENCHMARKS = (
    Benchmark(
        name="idle.10000",
        about="Ten thousand connections that do nothing but ping: memory and CPU of the server.",
        figures=(MEMORY, CPU),
        run=measure,
        timeout=180.0,
    ),
)
