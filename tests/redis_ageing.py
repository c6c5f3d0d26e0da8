"""Letting time pass in Redis: every key is brought nearer to its end instead of waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from redis.asyncio import Redis

from legato.bus.redis import RedisBus
from tests.redis_server import RedisServer

AGE = """
local ms = tonumber(ARGV[1])
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= ms then redis.call('DEL', key) else redis.call('PEXPIRE', key, left - ms) end
  end
  -- Held jobs, waiting workers and expiries of records are listed by the time of their end.
  if string.find(key, '}:h$') or string.find(key, '}:w:') or string.find(key, '}:x$') then
    local ends = redis.call('ZRANGE', key, 0, -1)
    for _, name in ipairs(ends) do redis.call('ZINCRBY', key, -ms, name) end
  end
end
"""


class Ageing:
    """Moves the clock of everything in some servers."""

    def __init__(self, servers: Sequence[RedisServer]) -> None:
        self._clients = [Redis.from_url(server.url) for server in servers]

    async def __call__(self, seconds: float) -> None:
        for client in self._clients:
            await client.eval(AGE, 0, str(round(seconds * 1000)))

    async def clear(self) -> None:
        for client in self._clients:
            await client.flushdb()

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()


async def until_quiet(buses: Sequence[RedisBus]) -> None:
    """Return when nothing is on its way between buses: a round has brought no call or push."""
    calls = -1
    while True:
        for bus in buses:
            await idle(bus)
            await bus.probe()
        counts = [bus.counts() for bus in buses]
        # Each bus has made one call for its probe.
        seen = sum(count["calls"] - 1 + count["pushes"] for count in counts)
        if seen == calls and all(bus.is_idle for bus in buses):
            return
        calls = seen + len(buses)


async def idle(bus: RedisBus) -> None:
    """Return when a bus has sent all and has all replies."""
    while not bus.is_idle:  # noqa: ASYNC110 - the bus has no event for what only tests want
        await asyncio.sleep(0)
