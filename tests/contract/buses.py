"""The implementations of the bus that the contract is checked on, and what a test sees of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from legato.bus.base import Bus, Direction, Entry, Item, Job, LogWriter, StreamKey
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.redis import RedisBus, RedisConfig
from legato.errors import LegatoError
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamStart
from tests.redis_ageing import Ageing, until_quiet
from tests.redis_server import RedisServer, shared_cluster, shared_server

ARRIVAL = 5.0
"""Seconds after which what should have arrived counts as lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A fresh bus under test.

    Attributes:
        bus: As one process sees it.
        peer: The same bus as another process sees it.
        advance: Lets seconds pass, and what they bring about happen.
        quiet: Returns when nothing is on its way any more.
        tick: A short time, in seconds; a thousand of them outlast every test.
        tombstone: Seconds that a deleted stream's id is refused.
        log_bytes: Payload that fills a log.
        instant: Whether a job is handed over within the call that submits it.
    """

    bus: Bus
    peer: Bus
    advance: Callable[[float], Awaitable[None]]
    quiet: Callable[[], Awaitable[None]]
    tick: float
    tombstone: float
    log_bytes: int
    instant: bool

    @property
    def long(self) -> float:
        """A time to live that outlasts the test."""
        return 1000 * self.tick


class Implementation(Protocol):
    """How to set up one implementation."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of `tests.needs`."""

    @property
    def examples(self) -> int:
        """Random histories that are played on it."""

    def open(self) -> AbstractAsyncContextManager[Rig]: ...


@dataclass
class FakeClock:
    """Time that passes only when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Memory:
    """The memory bus, on a clock of its own."""

    name = "memory"
    needs = ()
    examples = 100

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Rig]:
        clock = FakeClock()
        log_bytes = 256 << 10
        bus = MemoryBus(clock=clock, bounds=Bounds(log_bytes=log_bytes))

        async def quiet() -> None:
            for _ in range(4):
                await asyncio.sleep(0)

        async def advance(seconds: float) -> None:
            clock.now += seconds
            bus.sweep()
            await quiet()

        yield Rig(
            bus=bus,
            peer=bus,
            advance=advance,
            quiet=quiet,
            tick=10.0,
            tombstone=300.0,
            log_bytes=log_bytes,
            instant=True,
        )
        await bus.close()


class Redis:
    """The Redis bus, on servers of its own, whose keys are aged instead of waiting."""

    needs = ("redis-server",)

    def __init__(
        self, name: str, servers: Callable[[], Sequence[RedisServer]], *, examples: int
    ) -> None:
        self.name = name
        self.examples = examples
        self._servers = servers

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Rig]:
        servers = self._servers()
        log_bytes = 256 << 10
        # Nobody looks by himself within a test: what must come, comes by a push.
        config = RedisConfig(url=servers[0].url, log_bytes=log_bytes, look_every=3600)
        age = Ageing(servers)
        await age.clear()
        buses = [await RedisBus.open(config) for _ in range(2)]

        async def quiet() -> None:
            await until_quiet(buses)

        async def advance(seconds: float) -> None:
            await quiet()
            await age(seconds)
            for bus in buses:
                bus.look()
            await quiet()

        yield Rig(
            bus=buses[0],
            peer=buses[1],
            advance=advance,
            quiet=quiet,
            tick=10.0,
            tombstone=300.0,
            log_bytes=log_bytes,
            instant=False,
        )
        for bus in buses:
            await bus.close()
        await age.close()


BUSES: tuple[Implementation, ...] = (
    Memory(),
    Redis("redis", lambda: (shared_server(),), examples=60),
    Redis("redis-cluster", shared_cluster, examples=15),
)


@dataclass
class Reader:
    """A follower of a log that keeps what it is told."""

    calls: list[list[Entry]] = field(default_factory=list)
    reasons: list[LegatoError] = field(default_factory=list)

    def deliver(self, entries: Sequence[Entry]) -> None:
        assert not self.reasons, "delivered after the end"
        self.calls.append(list(entries))

    def closed(self, reason: LegatoError) -> None:
        self.reasons.append(reason)

    @property
    def entries(self) -> list[Entry]:
        return [entry for call in self.calls for entry in call]

    @property
    def numbers(self) -> list[int]:
        return [entry.number for entry in self.entries]

    async def has(self, count: int) -> list[int]:
        """Wait for `count` entries in all and return their numbers."""
        await arrive(lambda: len(self.entries) >= count)
        return self.numbers

    async def end(self) -> LegatoError:
        """Wait for the reason of the end."""
        await arrive(lambda: bool(self.reasons))
        return self.reasons[0]

    def follow(self, bus: Bus, key: StreamKey, direction: Direction, *, after: int = 0) -> Reader:
        """Follow a log and return the reader itself."""
        bus.logs.follow(key, direction, self.deliver, after=after, closed=self.closed)
        return self


async def arrive(condition: Callable[[], bool]) -> None:
    """Return as soon as `condition` holds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ARRIVAL
    turn = 0
    while not condition():
        assert loop.time() < deadline, "it did not arrive"
        turn += 1
        await asyncio.sleep(0 if turn < 100 else 0.005)


async def settled(writer: LogWriter, *entries: tuple[Item, ...]) -> LogWriter:
    """Append entries and wait until they are stored."""
    for items in entries:
        writer.append(items)
    await writer.settle()
    return writer


async def refuse(writer: LogWriter, kind: type[LegatoError]) -> None:
    """Expect that a write is refused, at the latest when it should be stored."""
    with pytest.raises(kind):
        await settled(writer, frame(0))


async def filled(
    rig: Rig, key: StreamKey, count: int, direction: Direction = Direction.UP
) -> LogWriter:
    """Make a stream with `count` entries in one of its logs."""
    await rig.bus.logs.create(key, ttl=rig.long)
    return await settled(rig.bus.logs.writer(key, direction), *(frame(n) for n in range(count)))


def frame(seq: int, size_bytes: int = 4) -> tuple[Item]:
    """The items of an entry with one audio frame."""
    return (AudioFrame(bytes(size_bytes), seq, sample=seq * 320),)


def stream(name: str = "s1", *, tenant: str = "default") -> StreamKey:
    return StreamKey(tenant, name)


def job(name: str = "s1", engine: str = "tone", *, tenant: str = "default") -> Job:
    start = StreamStart(stream_id=name, task="echo", options={"seed": 3})
    return Job(key=StreamKey(tenant, name), engine=engine, start=start, seed=7)
