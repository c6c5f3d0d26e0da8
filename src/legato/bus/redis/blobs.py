"""Blobs of a Redis bus: plain strings."""

from __future__ import annotations

from collections.abc import Set

from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Command
from legato.bus.redis.scan import scan
from legato.bus.redis.servers import Servers, ask


class RedisBlobs:
    """Fills the port's `Blobs`.

    Args:
        servers: Where the blobs are.
        keys: Names them.
    """

    def __init__(self, servers: Servers, keys: Keys) -> None:
        self._servers = servers
        self._keys = keys

    async def put(self, tenant: str, name: str, data: bytes, *, ttl: float | None = None) -> None:
        key = self._keys.blob(tenant, name)
        command: Command = ("SET", key, data)
        if ttl is not None:
            command += ("PX", max(1, round(ttl * 1000)))
        await ask(self._servers, key, command)

    async def get(self, tenant: str, name: str) -> bytes | None:
        key = self._keys.blob(tenant, name)
        (reply,) = await ask(self._servers, key, ("GET", key))
        return reply if isinstance(reply, bytes) else None

    async def delete(self, tenant: str, name: str) -> bool:
        key = self._keys.blob(tenant, name)
        (reply,) = await ask(self._servers, key, ("DEL", key))
        return reply == 1

    async def list(self, tenant: str) -> Set[str]:
        keys = await scan(self._servers, self._keys, self._keys.blobs_of(tenant))
        return {self._keys.name_in(key) for key in keys}
