"""A gateway and several workers on one Redis, of which workers may be added and killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from legato.bench.process import Running, server
from legato.bench.stack import QUIET, legato, redis_server, settings_file

WORKERS: Final = 2
RESUME_WINDOW: Final = 30.0

SETTINGS: Final = """\
[gateway]
resume_window = {resume_window}

[worker]
engines = [{{ kind = "synthesize", name = "tone", slots = 64 }}]
synthesizers = ["tone"]
recognizers = []
"""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker, as `/v1/cluster` tells of it.

    Attributes:
        name: Nobody else's.
        pid: Its process.
    """

    name: str
    pid: int


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that a worker holds.

    Attributes:
        stream_id: Of the stream.
        worker: Name of the worker.
    """

    stream_id: str
    worker: str


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds what; other fields of `/v1/cluster` are left out."""

    workers: tuple[Worker, ...]
    leases: tuple[Lease, ...]


class Fleet:
    """A gateway and workers on a Redis of their own.

    Args:
        stack: Ends what is started.
        url: Of Redis.
        config: Path of the settings.
    """

    def __init__(self, stack: AsyncExitStack, url: str, config: str) -> None:
        self._stack = stack
        self._common = ("--bus", url, *QUIET, "--config", config)

    async def start(self) -> None:
        """Start all."""
        await asyncio.gather(*(self.add_worker() for _ in range(WORKERS)))
        command = legato("gateway", "--port", "0", *self._common)
        self.gateway: Running = await self._stack.enter_async_context(
            server(command, ready=b"ready after")
        )

    async def add_worker(self) -> None:
        """Start one more worker."""
        command = legato("worker", *self._common)
        await self._stack.enter_async_context(server(command, ready=b"ready after", listens=False))

    async def cluster(self) -> Cluster:
        """Ask the gateway who holds what."""
        body = await self.gateway.get("/v1/cluster")
        return msgspec.json.decode(body, type=Cluster)


@asynccontextmanager
async def fleet() -> AsyncIterator[Fleet]:
    """Run them for the length of the block.

    Raises:
        ServerFailed: If one of them does not start.
    """
    async with AsyncExitStack() as stack:
        config = await stack.enter_async_context(settings_file(RESUME_WINDOW, SETTINGS))
        _, url = await stack.enter_async_context(redis_server())
        running = Fleet(stack, url, config)
        await running.start()
        yield running
