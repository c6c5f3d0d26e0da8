"""Memory of connections that do nothing."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import ClientConnection, connect

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import raise_open_files, rss_bytes
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row
from legato.protocol.codec import encode
from legato.protocol.messages import Hello
from legato.protocol.version import VERSION

CONNECTIONS = 1000
RUNS = 3
AT_ONCE = 50
SPARE_FILES = 200
"""Files that client and server need beside the connections."""

FIRST = 3
"""Connections before the count: what they load is not theirs."""

SETTLE = 1.0
MEMORY = Figure("idle.memory", "KiB", 40.0)


async def measure(setup: Setup) -> list[Row]:
    """Open connections that say hello and nothing else, and look at the server's memory."""
    wanted = setup.times(CONNECTIONS, 100)
    count = min(wanted, raise_open_files(wanted + SPARE_FILES) - SPARE_FILES)
    runs = setup.times(RUNS)
    costs = []
    for number in range(runs):
        setup.tell(f"run {number + 1} of {runs}")
        async with legato_server() as running:
            address = f"{running.url}/v1/stream"
            await _leave(await _arrive(address, FIRST))
            before = rss_bytes(running.pid)
            sockets = await _arrive(address, count)
            try:
                await asyncio.sleep(SETTLE)
                costs.append((rss_bytes(running.pid) - before) / count / 1024)
            finally:
                await _leave(sockets)
    note = f"growth of the server's resident memory over {count} connections that said hello"
    return [MEMORY.of(costs, note=note)]


async def _arrive(address: str, count: int) -> list[ClientConnection]:
    sockets: list[ClientConnection] = []
    while len(sockets) < count:
        batch = min(AT_ONCE, count - len(sockets))
        sockets.extend(await asyncio.gather(*(_greet(address) for _ in range(batch))))
    return sockets


async def _greet(address: str) -> ClientConnection:
    socket = await connect(address, compression=None, ping_interval=None)
    await socket.send(encode(Hello(version=VERSION)))
    await socket.recv()
    return socket


async def _leave(sockets: list[ClientConnection]) -> None:
    await asyncio.gather(*(socket.close() for socket in sockets))


BENCHMARKS = (
    Benchmark(
        name="idle.memory",
        about="Memory of the server for a connection that said hello and does nothing.",
        figures=(MEMORY,),
        run=measure,
    ),
)
