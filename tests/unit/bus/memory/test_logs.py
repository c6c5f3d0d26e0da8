import pytest

from legato.bus.base import Direction
from legato.bus.memory import MemoryBus
from legato.errors import Overloaded, SessionExpired, StreamExists
from tests.contract.buses import FakeClock, Reader, frame, stream
from tests.unit.bus.memory.conftest import SMALL

UP = Direction.UP


async def test_streams_past_the_limit_are_refused_until_one_ends(bus: MemoryBus) -> None:
    for n in range(SMALL.streams):
        await bus.logs.create(stream(f"s{n}"), ttl=60)
    with pytest.raises(Overloaded, match="3 streams"):
        await bus.logs.create(stream("s9"), ttl=60)
    await bus.logs.delete(stream("s0"))
    await bus.logs.create(stream("s9"), ttl=60)


async def test_full_logs_refuse_new_streams_and_let_the_others_go_on(bus: MemoryBus) -> None:
    await bus.logs.create(stream("s1"), ttl=60)
    await bus.logs.create(stream("s2"), ttl=60)
    for name in ("s1", "s2"):
        writer = bus.logs.writer(stream(name), UP)
        for n in range(8):
            writer.append(frame(n, 1000))
    with pytest.raises(Overloaded, match="20000 bytes"):
        await bus.logs.create(stream("s3"), ttl=60)
    bus.logs.writer(stream("s1"), UP).append(frame(8, 1000))
    await bus.logs.trim(stream("s1"), UP, upto=9)
    await bus.logs.create(stream("s3"), ttl=60)


async def test_tombstones_are_bounded_too(bus: MemoryBus, clock: FakeClock) -> None:
    for n in range(SMALL.tombstones):
        await bus.logs.create(stream(f"s{n}"), ttl=60)
        await bus.logs.delete(stream(f"s{n}"))
    with pytest.raises(Overloaded, match="deleted"):
        await bus.logs.create(stream("s9"), ttl=60)
    clock.now += 300
    bus.sweep()
    await bus.logs.create(stream("s9"), ttl=60)


async def test_what_has_expired_is_gone_before_it_is_swept(
    bus: MemoryBus, clock: FakeClock
) -> None:
    reader = Reader()
    await bus.logs.create(stream(), ttl=1)
    bus.logs.follow(stream(), UP, reader.deliver, closed=reader.closed)
    clock.now += 1
    assert not await bus.logs.exists(stream())
    assert isinstance(await reader.end(), SessionExpired)
    await bus.logs.create(stream(), ttl=1)


async def test_an_expired_stream_may_be_made_again_but_a_deleted_one_says_why_not(
    bus: MemoryBus,
) -> None:
    await bus.logs.create(stream(), ttl=1)
    await bus.logs.delete(stream())
    with pytest.raises(StreamExists, match="fresh stream_id"):
        await bus.logs.create(stream(), ttl=1)


async def test_streams_that_come_and_go_leave_only_tombstones(clock: FakeClock) -> None:
    bus = MemoryBus(clock=clock)
    for n in range(200):
        key = stream(f"s{n}")
        await bus.logs.create(key, ttl=3600)
        bus.logs.writer(key, UP).append(frame(n))
        if n % 2:
            await bus.logs.touch(key, ttl=0)
        else:
            await bus.logs.delete(key)
    bus.sweep()
    counts = bus.counts()
    assert (counts["streams"], counts["tombstones"], counts["logs_bytes"]) == (0, 100, 0)
    await bus.close()
