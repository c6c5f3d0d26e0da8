"""What one process runs: a gateway, a worker, or both, around a bus."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from legato.bus.base import Bus
from legato.bus.memory import MemoryBus
from legato.bus.records import EngineRecord
from legato.cli.buses import open_bus
from legato.cli.fleet import Fleet
from legato.gateway.config import GatewayConfig
from legato.gateway.server import Server
from legato.worker.config import WorkerConfig
from legato.worker.runner import Worker


class Node:
    """A gateway, a worker, or both.

    Args:
        bus: What they meet on; closed with the node.
        gateway: Settings, or None for a worker alone.
        worker: Settings, or None for a gateway alone.
        fleet: Gateway processes in the place of a gateway.
        listening: Socket of the gateway, if it is open already.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        gateway: GatewayConfig | None,
        worker: WorkerConfig | None,
        fleet: Fleet | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        self._bus = bus
        self._server: Server | Fleet | None = fleet
        if gateway is not None and fleet is None:
            self._server = Server(bus, gateway, listening=listening)
        self._worker = None if worker is None else Worker(bus, worker)

    @classmethod
    async def open(
        cls,
        bus: str,
        *,
        gateway: GatewayConfig | None,
        worker: WorkerConfig | None,
        fleet: Fleet | None = None,
        listening: socket.socket | None = None,
    ) -> Node:
        """Connect to the bus at an address.

        Raises:
            BadSettings: If there is no such bus.
            BusUnavailable: If it does not answer, or cannot be relied on.
        """
        return cls(
            await open_bus(bus), gateway=gateway, worker=worker, fleet=fleet, listening=listening
        )

    @property
    def url(self) -> str | None:
        """Where clients connect to; None without a gateway."""
        return None if self._server is None else self._server.url

    @property
    def engines(self) -> list[EngineRecord]:
        """Its engines, those that cannot be used with the reason; none without a worker."""
        return [] if self._worker is None else self._worker.engines()

    async def start(self) -> None:
        """Listen, and begin to load the engines.

        Raises:
            PortInUse: If another program listens there.
            CannotListen: If the address cannot be bound for another reason.
            BadCertificate: If the certificate or its key cannot be used.
        """
        if self._server is not None:
            await self._server.start()
        if self._worker is not None:
            await self._worker.start()

    async def ready(self) -> None:
        """Wait until every engine is warm, or known to be unavailable."""
        if self._worker is not None:
            await self._worker.wait_ready()

    async def finished(self) -> None:
        """Wait until the worker has ended, which it does not do by itself; raises its failure."""
        if self._worker is not None:
            await self._worker.finished()
        else:
            await asyncio.Event().wait()

    async def renew(self, worker: WorkerConfig) -> None:
        """Load the worker's engines anew, with the options that they have now."""
        if self._worker is not None:
            await self._worker.renew(worker.engines)

    async def stop(self, *, drain: float | None = None) -> None:
        """Go away in good order; no child process is left.

        Args:
            drain: Seconds that a worker's jobs may take to end; 0 cuts everything at once. None
                takes the gateway's own drain time, after which nothing is left to do.
        """
        if self._server is not None:
            await self._server.stop(drain=drain != 0)
        if self._worker is not None:
            await self._worker.stop(drain or 0.0)
        await self._bus.close()


@asynccontextmanager
async def running(gateway: GatewayConfig, worker: WorkerConfig) -> AsyncIterator[Node]:
    """Run a node of its own for the length of the block, with its engines warm."""
    node = Node(MemoryBus(), gateway=gateway, worker=worker)
    try:
        await node.start()
        await node.ready()
        yield node
    finally:
        stopping = asyncio.ensure_future(node.stop(drain=0.0))
        await asyncio.shield(stopping)
