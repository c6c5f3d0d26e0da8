"""Records and counters of a Redis bus."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Set

from legato.bus.base import Record
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply
from legato.bus.redis.scan import scan
from legato.bus.redis.scripts import ERASE, GET, INCREMENT, LIST, PUT, Script
from legato.bus.redis.servers import Servers, ask


class RedisRegistry:
    """Fills the port's `Registry`.

    All records of a tenant and kind share a key, which lives as long as the longest of them.
    A call whose reply was lost is sent again and finds what it had done; where that cannot be
    (`delete`), it may say that there was nothing.

    Args:
        servers: Where the records are.
        keys: Names them.
    """

    def __init__(self, servers: Servers, keys: Keys) -> None:
        self._servers = servers
        self._keys = keys

    async def get(self, tenant: str, kind: str, name: str) -> Record | None:
        match await self._run(GET, tenant, kind, name):
            case [bytes(version), bytes(value)]:
                return Record(value, int(version))
        return None

    async def put(
        self,
        tenant: str,
        kind: str,
        name: str,
        value: bytes,
        *,
        ttl: float | None = None,
        expected: int | None = None,
    ) -> bool:
        version = "" if expected is None else expected
        nonce = secrets.token_hex(6)
        return await self._run(PUT, tenant, kind, name, value, nonce, _ms(ttl), version) == 1

    async def delete(self, tenant: str, kind: str, name: str) -> bool:
        return await self._run(ERASE, tenant, kind, name) == 1

    async def list(self, tenant: str, kind: str) -> Mapping[str, Record]:
        reply = await self._run(LIST, tenant, kind)
        if not isinstance(reply, list):
            return {}
        return {
            name.decode(): Record(value, int(version))
            for name, version, value in zip(reply[::3], reply[1::3], reply[2::3], strict=True)
        }

    async def kinds(self, tenant: str) -> Set[str]:
        keys = await scan(self._servers, self._keys, self._keys.kinds_of(tenant))
        return {self._keys.name_in(key) for key in keys}

    async def increment(
        self, tenant: str, kind: str, name: str, *, by: int = 1, ttl: float | None = None
    ) -> int:
        reply = await self._run(
            INCREMENT, tenant, kind, name, by, nonce := secrets.token_hex(6), _ms(ttl), nonce=nonce
        )
        match reply:
            case bytes(total):
                return int(total)
        raise ValueError(f"record {name!r} is not a counter, or would reach 2^53")

    async def _run(
        self, script: Script, tenant: str, kind: str, *arguments: str | bytes | int, nonce: str = ""
    ) -> Reply:
        records = self._keys.registry(tenant, kind)
        keys = [records, f"{records}:x"]
        if nonce:
            keys.append(f"{records}:o:{nonce}")
        (reply,) = await ask(self._servers, records, script(keys, *arguments))
        return reply


def _ms(ttl: float | None) -> str | int:
    return "" if ttl is None else max(1, round(ttl * 1000))
