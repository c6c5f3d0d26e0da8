"""The logs of a Redis bus."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from legato.bus.base import Closed, Deliver, Direction, Entry, LogWriter, StreamKey, Subscription
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.gauge import Gauge
from legato.bus.redis.inbox import Inbox
from legato.bus.redis.keys import Keys
from legato.bus.redis.outbox import Outbox
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.readers import Readers
from legato.bus.redis.scripts import CREATE, DELETE, TOUCH, TRIM
from legato.bus.redis.servers import Servers, ask
from legato.bus.redis.view import View, read_commands
from legato.bus.redis.writer import RedisWriter
from legato.errors import BusUnavailable, LegatoError, StreamExists

TOMBSTONE: Final = 300.0
"""Seconds that the id of a deleted stream is refused."""

RACES: Final = 5
"""Times that a log may change between two commands before reading it fails."""


class RedisLogs:
    """Fills the port's `Logs`; used within one event loop.

    Args:
        servers: Where the logs are.
        inbox: Takes what others push.
        pushes: Tells others.
        keys: Names everything.
        config: Sizes and times.
    """

    def __init__(
        self,
        servers: Servers,
        inbox: Inbox,
        *,
        pushes: Pushes,
        keys: Keys,
        config: RedisConfig,
    ) -> None:
        self._servers = servers
        self._inbox = inbox
        self._pushes = pushes
        self._keys = keys
        self._config = config
        self._outbox = Outbox(servers, pushes, keys, config)
        self._readers = Readers(servers, inbox, pushes, keys=keys, config=config)
        self._gauges: WeakValueDictionary[tuple[StreamKey, Direction], Gauge]
        self._gauges = WeakValueDictionary()
        self._process = secrets.token_hex(6)
        self._writers = count(1)
        self._token = ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return self._outbox.is_idle

    def counts(self) -> dict[str, int]:
        """Count what this process has to do with."""
        return {"followed_logs": len(self._readers), "written_logs": len(self._gauges)}

    async def create(self, key: StreamKey, *, ttl: float) -> None:
        keys = self._keys.stream(key)
        command = CREATE((keys.record, keys.tombstone), secrets.token_hex(6), _ms(ttl))
        (reply,) = await ask(self._servers, keys.record, command)
        if reply == b"exists":
            raise StreamExists(f"stream {key.stream_id!r} exists")
        if reply == b"deleted":
            raise StreamExists(
                f"stream {key.stream_id!r} was deleted less than {TOMBSTONE:g} s ago;"
                " use a fresh stream_id"
            )

    async def exists(self, key: StreamKey) -> bool:
        record = self._keys.stream(key).record
        (reply,) = await ask(self._servers, record, ("EXISTS", record))
        return reply == 1

    def writer(self, key: StreamKey, direction: Direction, *, fence: int = 0) -> LogWriter:
        self._admit()
        gauge = self._gauges.get((key, direction))
        if gauge is None:
            gauge = self._gauges[key, direction] = Gauge()
        writer = RedisWriter(
            key,
            direction,
            fence=fence,
            name=f"{self._process}{next(self._writers):x}",
            gauge=gauge,
            outbox=self._outbox,
        )
        handle = self._inbox.add_writer(writer)
        writer.open(f"{self._token}/{handle}" if self._token else "")
        return writer

    def follow(
        self,
        key: StreamKey,
        direction: Direction,
        deliver: Deliver,
        *,
        after: int = 0,
        closed: Closed | None = None,
    ) -> Subscription:
        self._admit()
        return self._readers.follow(key, direction, deliver, after=after, closed=closed)

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        keys = self._keys.stream(key)
        token = ""
        for _ in range(RACES):
            commands = read_commands(keys, direction, token, start=after + 1, limit=limit)
            view = View.of(key, direction, await ask(self._servers, keys.record, *commands))
            view.check(b"", after)
            entries = view.entries(after + 1)[:limit]
            if view.token == token and (entries or not view.stored):
                return entries
            token = view.token
        raise BusUnavailable(f"{view.name} changes all the time")

    async def trim(self, key: StreamKey, direction: Direction, *, upto: int) -> None:
        record, letter = self._keys.stream(key).record, direction.value[0]
        (reply,) = await ask(self._servers, record, TRIM((record,), letter, upto))
        match reply:
            case [int(trimmed), bytes(writers)]:
                self._pushes.looks(writers.decode(), (record, f"{letter}w"))
                gauge = self._gauges.get((key, direction))
                if gauge is not None:
                    gauge.trimmed = max(gauge.trimmed, trimmed)
                    gauge.changed()

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        record = self._keys.stream(key).record
        (reply,) = await ask(self._servers, record, TOUCH((record,), _ms(ttl)))
        return reply == 1

    async def delete(self, key: StreamKey) -> int:
        keys = self._keys.stream(key)
        names = (keys.record, keys.tombstone)
        command = DELETE(names, secrets.token_hex(6), _ms(TOMBSTONE))
        (reply,) = await ask(self._servers, keys.record, command)
        match reply:
            case [int(erased), *told]:
                for listeners in told:
                    if isinstance(listeners, bytes):
                        self._pushes.looks(listeners.decode())
                return erased
        return 0

    def move(self, token: str) -> None:
        """Be told on another channel."""
        self._token = token
        self._readers.move(token)
        for handle, writer in self._inbox.writers():
            if isinstance(writer, RedisWriter):
                writer.open(f"{token}/{handle}")

    def look(self) -> None:
        """Look at all logs that are followed, now rather than when that is due."""
        self._readers.look()

    def silent(self, reason: LegatoError) -> None:
        """Nothing can be heard any more: readers are told."""
        self._readers.end(reason)

    async def flush(self) -> None:
        """Wait until what was appended is stored, or has found out that it will not be."""
        for gauge in tuple(self._gauges.values()):
            while gauge.pending:
                await gauge.change()

    def close(self) -> None:
        """End all readers and writers: the bus went away."""
        self._readers.close()
        self._outbox.close()
        self._readers.end(BusUnavailable("the bus is closed"))
        for gauge in tuple(self._gauges.values()):
            gauge.changed()

    def _admit(self) -> None:
        if self._outbox.is_closed:
            raise BusUnavailable("the bus is closed")


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
