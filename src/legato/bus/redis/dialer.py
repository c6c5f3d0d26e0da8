"""Making connections: redis-py resolves, speaks TLS and logs in; then a `Link` takes over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, RedisError

from legato.bus.redis.link import Link
from legato.errors import BusUnavailable

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
"""Seconds between attempts to connect: full jitter below a bound that doubles."""


class Refused(BusUnavailable):
    """The server does not let us in; waiting is no use until somebody mends that."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Line:
    """A link and the redis-py connection that it was taken from, which owns the socket."""

    link: Link
    connection: AbstractConnection

    async def close(self) -> None:
        """Close the socket."""
        await self.connection.disconnect(nowait=True)


class Dialer:
    """Connects to one server.

    Args:
        url: As in `RedisConfig.url`.
        timeout: Seconds for a connection to be ready.
        address: Host and port to use in the place of the URL's, for nodes of a Cluster.

    Raises:
        BusUnavailable: If the URL cannot be understood.
    """

    def __init__(self, url: str, *, timeout: float, address: tuple[str, int] | None = None) -> None:
        try:
            options: dict[str, Any] = {**parse_url(url)}
        except ValueError as error:
            raise Refused(f"the address of the bus is not understood: {error}") from error
        self._kind: type[AbstractConnection] = options.pop("connection_class", Connection)
        if address is not None:
            options["host"], options["port"] = address
        self.address = options.get("path") or (
            f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        )
        # A time-out leaves the outcome unknown, and redis-py would send the command again.
        self._options = options | {
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "protocol": 2,
            "driver_info": None,
        }
        self._timeout = timeout

    async def dial(self, link: Link) -> Line:
        """Connect, log in, and let `link` have the connection.

        Raises:
            Refused: If the server does not let us in.
            BusUnavailable: If it cannot be reached.
        """
        connection = self._kind(**self._options)
        try:
            async with asyncio.timeout(self._timeout):
                await connection.connect()  # type: ignore[no-untyped-call]  # redis-py
        except BaseException as error:
            await connection.disconnect(nowait=True)
            if isinstance(error, RedisError | OSError | TimeoutError):
                raise self._reason(error) from error
            raise
        writer = connection._writer  # noqa: SLF001 - redis-py has no way to hand its socket over
        if writer is None:
            raise BusUnavailable(f"Redis at {self.address} closed the connection at once")
        writer.transport.set_protocol(link)
        link.connection_made(writer.transport)
        return Line(link, connection)

    def _reason(self, error: Exception) -> BusUnavailable:
        refused = isinstance(error, AuthenticationError | AuthorizationError)
        kind = Refused if refused else BusUnavailable
        return kind(f"Redis at {self.address} cannot be used: {str(error) or 'no answer'}")


class Owner(Protocol):
    """Who uses the connections that a `Keeper` makes."""

    def dialer(self) -> Dialer:
        """Return where to connect next."""

    def make_link(self) -> Link:
        """Return a link for a new connection."""

    def opened(self, link: Link) -> None:
        """The connection is ready."""

    def lost(self) -> None:
        """The connection has ended; another will be made."""

    def failed(self, reason: BusUnavailable) -> None:
        """A connection could not be made; it will be tried again."""


async def keep_connected(owner: Owner, rng: Random) -> None:
    """Connect, and connect again whenever the connection is lost, until cancelled."""
    loop = asyncio.get_running_loop()
    bound = FIRST_PAUSE
    while True:
        began = loop.time()
        try:
            line = await owner.dialer().dial(owner.make_link())
        except BusUnavailable as reason:
            owner.failed(reason)
        else:
            try:
                owner.opened(line.link)
                await line.link.lost.wait()
            finally:
                line.link.abort()
                await line.close()
                owner.lost()
        if loop.time() - began > LONGEST_PAUSE:
            bound = FIRST_PAUSE
        await asyncio.sleep(rng.uniform(0, bound))
        bound = min(2 * bound, LONGEST_PAUSE)
