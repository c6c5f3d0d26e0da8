"""Which server is asked: one, or the node of a Cluster that a key is on."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection
from random import Random
from typing import Final, Protocol

from legato.bus.redis.call import Call, into_future
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.faults import translate
from legato.bus.redis.link import Command, Reply, ReplyError
from legato.bus.redis.node import Node


class Servers(Protocol):
    """Where calls go.

    Attributes:
        publish: The command that pushes to a channel.
        subscribe: The command that listens to one.
    """

    publish: str
    subscribe: str

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for a reply."""

    @property
    def places(self) -> Collection[int]:
        """One slot of each server."""

    @property
    def calls(self) -> int:
        """Calls made so far."""

    def submit(self, call: Call) -> None:
        """Carry a call out."""

    def pick_channel(self) -> tuple[Dialer, str]:
        """Return where to listen, and the token of a channel that can be heard there."""

    async def close(self) -> None:
        """Drop all connections."""


class SingleServer:
    """One server (or the master behind one address); fills `Servers`."""

    publish = "PUBLISH"
    subscribe = "SUBSCRIBE"
    places: Final = (0,)

    def __init__(self, dialer: Dialer, config: RedisConfig, rng: Random) -> None:
        self._dialer = dialer
        self._node = Node(dialer, config, rng=rng)

    @property
    def is_idle(self) -> bool:
        return self._node.is_idle

    @property
    def calls(self) -> int:
        return self._node.calls

    def submit(self, call: Call) -> None:
        self._node.submit(call)

    def pick_channel(self) -> tuple[Dialer, str]:
        return self._dialer, secrets.token_hex(6)

    async def close(self) -> None:
        await self._node.close()


async def call(servers: Servers, key: str, *commands: Command) -> list[Reply]:
    """Return the replies to commands on one key's node, errors among them.

    Raises:
        BusUnavailable: If there is no answer in time.
    """
    future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    servers.submit(Call(key, commands, into_future(future)))
    return await future


async def ask(servers: Servers, key: str, *commands: Command) -> list[Reply]:
    """Return the replies to commands on one key's node.

    Raises:
        BusUnavailable: If there is no answer in time.
        Overloaded: If the server is out of memory.
        Internal: If it says that a command is wrong.
    """
    replies = await call(servers, key, *commands)
    for reply in replies:
        if isinstance(reply, ReplyError):
            raise translate(reply) from reply
    return replies
