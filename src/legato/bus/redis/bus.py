"""The Redis bus as a whole: its parts, their connections and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Final, Self

from legato.bus.base import Blobs, Jobs, Logs, Registry
from legato.bus.redis import keys as names
from legato.bus.redis.blobs import RedisBlobs
from legato.bus.redis.cluster import Cluster
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.inbox import Inbox
from legato.bus.redis.jobs import RedisJobs
from legato.bus.redis.keys import Keys
from legato.bus.redis.logs import RedisLogs
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.registry import RedisRegistry
from legato.bus.redis.servers import Servers, SingleServer
from legato.bus.redis.startup import check_server
from legato.bus.redis.subscriber import Subscriber
from legato.bus.redis.watch import Watch
from legato.errors import BusUnavailable

LAST_WORDS: Final = 0.5
"""Seconds that `close` lets appends be stored."""


class RedisBus:
    """The bus of many processes on many machines; made by `open`.

    Two connections: one that all calls of the process share, and one on which it is told things.
    Streams, waits and claims need no task and no connection of their own.

    Args:
        servers: Where everything is.
        config: Sizes and times.
        rng: For the pauses between attempts to connect.

    Attributes:
        jobs: Work for workers.
        logs: What flows.
        registry: Small records.
        blobs: Larger values.
        is_shared: True: what it holds is in Redis.
    """

    is_shared: Final = True

    def __init__(self, servers: Servers, config: RedisConfig, rng: Random) -> None:
        keys = Keys(config.prefix)
        self._config = config
        self._servers = servers
        self._pushes = Pushes(servers, keys)
        self._jobs = RedisJobs(servers, self._pushes, keys)
        self._inbox = Inbox(self._jobs.job_waits)
        self._logs = RedisLogs(servers, self._inbox, pushes=self._pushes, keys=keys, config=config)
        self._watch = Watch(servers, keys, lost=self.look, looked=self._logs.look_at_silent)
        self._listening = asyncio.Event()
        self._subscriber = Subscriber(
            servers,
            keys,
            config,
            rng=rng,
            heard=self._inbox.take,
            moved=self._move,
            silent=self._logs.silent,
        )
        self._closed = False
        self.jobs: Jobs = self._jobs
        self.logs: Logs = self._logs
        self.registry: Registry = RedisRegistry(servers, keys)
        self.blobs: Blobs = RedisBlobs(servers, keys)

    @classmethod
    async def open(cls, config: RedisConfig | None = None, *, rng: Random | None = None) -> Self:
        """Connect, and see that the server can be relied on.

        Args:
            config: Sizes and times.
            rng: For the pauses between attempts to connect.

        Raises:
            BusUnavailable: If the server cannot be reached in time or does not let us in, is older
                than Redis 7.0, or may evict keys (`maxmemory-policy` must be `noeviction`).
        """
        config = config or RedisConfig()
        rng = rng or Random()  # noqa: S311 - spreads load, guards nothing
        await asyncio.to_thread(names.warm)
        bus = cls(await _connect(config, rng), config, rng)
        try:
            async with asyncio.timeout(config.patience):
                await bus._listening.wait()
        except TimeoutError as error:
            await bus.close()
            raise BusUnavailable("Redis lets nobody listen (SUBSCRIBE)") from error
        bus._watch.look()
        return bus

    async def probe(self) -> None:
        """Send a word to oneself through Redis; both connections must work for it to arrive.

        Raises:
            BusUnavailable: If it does not arrive within `attempt`.
        """
        arrived = asyncio.Event()
        number = self._inbox.expect_probe(arrived.set)
        try:
            async with asyncio.timeout(self._config.attempt):
                if self._subscriber.token:
                    self._pushes.probe(self._subscriber.token, number)
                await arrived.wait()
        except TimeoutError as error:
            raise BusUnavailable("what was sent through Redis does not arrive") from error
        finally:
            self._inbox.forget_probe(number)

    def look(self) -> None:
        """Look at all that this process waits for, now rather than when that is due."""
        self._logs.look()
        self._jobs.look()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being sent and no reply awaited."""
        return self._servers.is_idle and self._pushes.is_idle and self._logs.is_idle

    def counts(self) -> Mapping[str, int]:
        """Count what this process has to do with, and calls and pushes so far."""
        return {
            **self._logs.counts(),
            **self._jobs.counts(),
            "calls": self._servers.calls,
            "pushes": self._inbox.pushes,
        }

    async def close(self) -> None:
        """Store what was appended, if that is soon done; then end all waits and let go."""
        if self._closed:
            return
        self._closed = True
        self._watch.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self._logs.flush()
        self._jobs.close()
        self._logs.close()
        self._pushes.close()
        await self._subscriber.close()
        await self._servers.close()
        await self._jobs.closed()

    def _move(self) -> None:
        token = self._subscriber.token
        self._logs.move(token)
        self._jobs.move(token)
        self._listening.set()


async def _connect(config: RedisConfig, rng: Random) -> Servers:
    """Reach the server or Cluster; raises `BusUnavailable` if it is not fit for use."""
    single = SingleServer(Dialer(config.url, timeout=config.attempt), config, rng)
    try:
        if not await check_server(single):
            return single
    except BaseException:
        await single.close()
        raise
    await single.close()
    cluster = Cluster(config, rng)
    try:
        async with asyncio.timeout(config.patience):
            await cluster.ready()
    except BaseException as error:
        await cluster.close()
        if isinstance(error, TimeoutError):
            raise BusUnavailable("the Redis Cluster does not tell who holds its slots") from error
        raise
    return cluster
