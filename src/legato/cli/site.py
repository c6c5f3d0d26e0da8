"""What operators look at and act on: a server by its HTTP, or a bus without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legato.cli.exits import BadUsage
from legato.cli.options import as_text
from legato.client.config import ClientConfig
from legato.client.resources import read_object, request
from legato.errors import ConnectionLost

if TYPE_CHECKING:
    from legato.bus.base import Bus
    from legato.bus.cluster import Cluster
    from legato.bus.erasure import Receipt

ServerUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        callback=as_text,
        help="Server to ask, ws:// or wss:// [default: the one of the settings].",
        show_default=False,
    ),
]
BusUrl = Annotated[
    str | None,
    typer.Option(
        "--bus",
        callback=as_text,
        help="Bus to look at instead, such as redis://127.0.0.1:6379/0; no server need run.",
        show_default=False,
    ),
]


class Site:
    """Where a command of an operator goes.

    Args:
        url: Address of a server, or None.
        bus: Address of a bus, or None.
        ca_file: PEM file with the server's authority, or None.
        insecure: Accept any certificate.

    Raises:
        BadSettings: If the settings cannot be read.
        BadUsage: If both are named, or the bus is none that can be reached.
    """

    def __init__(
        self, url: str | None, bus: str | None, *, ca_file: Path | None, insecure: bool
    ) -> None:
        if url is not None and bus is not None:
            raise BadUsage("give --url or --bus, not both")
        if bus is not None:
            from legato.cli.buses import MEMORY  # its imports need the server extra

            if bus == MEMORY:
                raise BadUsage(f"{MEMORY} is within the server's process; name it with --url")
        self._bus = bus
        self._client = None if bus is not None else _client(url, ca_file, insecure=insecure)

    @property
    def is_bus(self) -> bool:
        """Whether it is a bus."""
        return self._bus is not None

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[Bus]:
        """Give the bus, for the length of the block.

        Raises:
            BadSettings: If there is no such bus.
            BusUnavailable: If it does not answer, or cannot be relied on.
        """
        assert self._bus is not None  # noqa: S101  (`is_bus`)
        from legato.cli.buses import open_bus  # its imports need the server extra

        bus = await open_bus(self._bus)
        try:
            yield bus
        finally:
            await bus.close()

    async def cluster(self) -> Cluster:
        """Ask the server how all processes are.

        Raises:
            ConnectionLost: If it cannot be reached, or is no Legato server.
            LegatoError: What it says is wrong.
        """
        import msgspec

        from legato.bus.cluster import decode_cluster

        body = await asyncio.to_thread(request, self._server, "cluster")
        try:
            return decode_cluster(body)
        except msgspec.DecodeError as error:
            raise ConnectionLost(
                "the server does not say how it is: not a Legato server?"
            ) from error

    async def forget(self, stream_id: str) -> Receipt:
        """Have the server erase a stream; errors are those of `cluster`."""
        import msgspec

        from legato.bus.erasure import Receipt

        name = f"streams/{stream_id}"
        answer = await asyncio.to_thread(read_object, self._server, name, method="DELETE")
        try:
            return msgspec.convert(answer.get("erased"), Receipt)
        except msgspec.ValidationError as error:
            raise ConnectionLost("the server gives no receipt: not a Legato server?") from error

    @property
    def _server(self) -> ClientConfig:
        assert self._client is not None  # noqa: S101  (not `is_bus`)
        return self._client


def _client(url: str | None, ca_file: Path | None, *, insecure: bool) -> ClientConfig:
    from legato.cli.target import check_address
    from legato.settings import load  # slow to import

    check_address(url, ca_file)
    flags = {"url": url, "ca_file": ca_file, "insecure": insecure or None}
    return load(flags={"client": flags}).settings.client
