"""The logs of a Redis bus."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from legato.bus.base import (
    NO_NOTES,
    Closed,
    Deliver,
    Direction,
    Entry,
    Failed,
    LogWriter,
    Record,
    Stored,
    StreamKey,
    Subscription,
)
from legato.bus.logs import check_note
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.gauge import Gauge
from legato.bus.redis.inbox import Inbox
from legato.bus.redis.keys import Keys
from legato.bus.redis.loss import TRACE
from legato.bus.redis.notes import check_all, read_notes, write_note
from legato.bus.redis.outbox import Outbox
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.readers import RAREST_LOOK, Readers
from legato.bus.redis.report import Report
from legato.bus.redis.scan import scan
from legato.bus.redis.scripts import CREATE, DELETE, TOUCH, TRIM
from legato.bus.redis.servers import Servers, ask
from legato.bus.redis.view import View, read_commands
from legato.bus.redis.writer import RedisWriter
from legato.errors import BusUnavailable, LegatoError, StreamExists

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

    async def create(
        self, key: StreamKey, *, ttl: float, notes: Mapping[str, bytes] = NO_NOTES
    ) -> None:
        keys = self._keys.stream(key)
        names = (keys.record, keys.tombstone)
        pairs = check_all(notes)
        command = CREATE(names, secrets.token_hex(6), _ms(ttl), _ms(TRACE), *pairs)
        (reply,) = await ask(self._servers, keys.record, command)
        if reply == b"exists":
            raise StreamExists(f"stream {key.stream_id!r} exists")
        if reply == b"deleted":
            raise StreamExists(
                f"stream {key.stream_id!r} was deleted less than {TRACE:g} s ago;"
                " use a fresh stream_id"
            )

    async def exists(self, key: StreamKey) -> bool:
        record = self._keys.stream(key).record
        (reply,) = await ask(self._servers, record, ("EXISTS", record))
        return reply == 1

    async def list(self, tenant: str) -> Set[StreamKey]:
        names = await scan(self._servers, self._keys, self._keys.streams_of(tenant))
        return {StreamKey(tenant, self._keys.name_in(name)) for name in names}

    def writer(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int = 0,
        stored: Stored | None = None,
        failed: Failed | None = None,
    ) -> LogWriter:
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
            report=Report(stored, failed),
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

    async def trim(
        self, key: StreamKey, direction: Direction, *, upto: int, note: bytes | None = None
    ) -> None:
        check_note(note or b"")
        record, letter = self._keys.stream(key).record, direction.value[0]
        noted = () if note is None else (direction.value, note)
        (reply,) = await ask(self._servers, record, TRIM((record,), letter, upto, *noted))
        match reply:
            case [int(trimmed), bytes(writers)]:
                self._pushes.looks(writers.decode(), (record, f"{letter}w"))
                gauge = self._gauges.get((key, direction))
                if gauge is not None:
                    gauge.trimmed = max(gauge.trimmed, trimmed)
                    gauge.changed()

    async def notes(self, key: StreamKey) -> Mapping[str, Record]:
        return await read_notes(self._servers, self._keys.stream(key), key)

    async def note(
        self, key: StreamKey, name: str, value: bytes, *, expected: int | None = None
    ) -> bool:
        keys = self._keys.stream(key)
        return await write_note(self._servers, keys, key, name=name, value=value, expected=expected)

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        keys = self._keys.stream(key)
        command = TOUCH((keys.record, keys.tombstone), _ms(ttl), _ms(TRACE))
        (reply,) = await ask(self._servers, keys.record, command)
        return reply == 1

    async def delete(self, key: StreamKey, *, tombstone: bool = True) -> int:
        keys = self._keys.stream(key)
        names = (keys.record, keys.tombstone)
        command = DELETE(names, secrets.token_hex(6), _ms(TRACE) if tombstone else 0)
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
        for handle, writer in self._live_writers():
            writer.open(f"{token}/{handle}")

    def look(self) -> None:
        """Look at all logs that are followed or written, now rather than when that is due."""
        self._readers.look()
        for _, writer in self._live_writers():
            writer.look()

    def look_at_silent(self) -> None:
        """Look at logs whose writers want to know their end and have heard nothing for long."""
        before = asyncio.get_running_loop().time() - RAREST_LOOK
        for _, writer in self._live_writers():
            writer.look_if_silent(before)

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
        for _, writer in self._live_writers():
            writer.end(BusUnavailable("the bus is closed"))

    def _live_writers(self) -> Iterator[tuple[int, RedisWriter]]:
        for handle, writer in self._inbox.writers():
            if isinstance(writer, RedisWriter):
                yield handle, writer

    def _admit(self) -> None:
        if self._outbox.is_closed:
            raise BusUnavailable("the bus is closed")


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
