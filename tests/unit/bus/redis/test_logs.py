import pytest

from legato.bus.base import Direction
from legato.bus.redis import RedisBus
from legato.errors import StreamExists
from tests.contract.buses import Reader, arrive, frame, settled, stream
from tests.redis_server import RedisServer
from tests.unit.bus.redis.lines import Line

KEY, UP = stream(), Direction.UP


async def test_every_key_of_a_stream_has_an_end(bus: RedisBus, server: RedisServer) -> None:
    await bus.logs.create(KEY, ttl=60)
    for direction in Direction:
        await settled(bus.logs.writer(KEY, direction), frame(0))
    line = Line(server)
    ends = [int(str(line("PEXPIRETIME", key))) for key in keys_of_streams(line)]
    trace = max(ends)
    ends.remove(trace)
    assert len(ends) == 3
    assert len(set(ends)) == 1
    assert ends[0] > 0
    assert trace - ends[0] == pytest.approx(300_000, abs=2)


def keys_of_streams(line: Line) -> list[bytes]:
    keys = line("KEYS", "*")
    assert isinstance(keys, list)
    return [key for key in keys if not key.startswith(b"legato:e:")]


async def test_a_stream_that_expired_may_be_made_again_while_its_trace_stands(
    bus: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    line = Line(server)
    line("DEL", "legato:{default/s1}:r")
    assert len(keys_of_streams(line)) == 1
    await bus.logs.create(KEY, ttl=60)
    assert await bus.logs.delete(KEY) == 0
    with pytest.raises(StreamExists):
        await bus.logs.create(KEY, ttl=60)


async def test_nothing_is_left_of_a_deleted_stream_but_a_nameless_mark(
    bus: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    reader = Reader().follow(bus, KEY, UP)
    await reader.has(1)
    writer.append(frame(1))
    await bus.logs.delete(KEY)
    await reader.end()
    await arrive(lambda: bus.is_idle)
    line = Line(server)
    keys = keys_of_streams(line)
    assert len(keys) == 1
    left = line("PTTL", keys[0])
    assert KEY.stream_id.encode() not in keys[0]
    assert isinstance(left, int)
    assert 290_000 < left <= 300_001


async def test_who_dies_between_storing_and_telling_leaves_readers_that_look(
    bus: RedisBus, peer: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP))
    reader = Reader().follow(peer, KEY, UP)
    line = Line(server)
    await arrive(lambda: line("HGET", "legato:{default/s1}:r", "ur") is not None and peer.is_idle)
    # With the list gone, nobody is told, as if the writer had died before.
    line("HDEL", "legato:{default/s1}:r", "ur")
    await settled(writer, frame(0))
    assert await reader.has(1) == [1]


async def test_readers_that_died_are_taken_off_the_list(
    bus: RedisBus, peer: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(peer, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    await reader.has(1)
    server.cli("client", "kill", "type", "pubsub")
    await settled(writer, frame(1))
    # The old place is gone at the latest when somebody was told in vain, and the new one is there.
    await reader.has(2)
    line = Line(server)
    await arrive(lambda: len(bytes(listed).split()) == 1 if (listed := readers(line)) else False)
    await settled(writer, frame(2))
    assert await reader.has(3) == [1, 2, 3]


def readers(line: Line) -> bytes:
    listed = line("HGET", "legato:{default/s1}:r", "ur")
    return listed if isinstance(listed, bytes) else b""


async def test_a_log_has_another_name_after_every_takeover(
    bus: RedisBus, peer: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    line = Line(server)
    await settled(bus.logs.writer(KEY, UP, fence=1), frame(0))
    before = line("KEYS", "legato:{default/s1}:u:*")
    await settled(peer.logs.writer(KEY, UP, fence=2), frame(1))
    after = line("KEYS", "legato:{default/s1}:u:*")
    assert isinstance(before, list)
    assert isinstance(after, list)
    assert len(before) == len(after) == 1
    assert before != after


async def test_a_trim_may_end_within_what_was_stored_together(bus: RedisBus) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), *(frame(n) for n in range(5)))
    await bus.logs.trim(KEY, UP, upto=2)
    assert [entry.number for entry in await bus.logs.read(KEY, UP, after=2)] == [3, 4, 5]
    assert [entry.number for entry in await bus.logs.read(KEY, UP, after=3, limit=1)] == [4]
    await settled(writer, frame(5))
    await bus.logs.trim(KEY, UP, upto=5)
    assert [entry.number for entry in await bus.logs.read(KEY, UP, after=5)] == [6]
    assert await bus.logs.delete(KEY) == 1


async def test_readers_go_on_after_both_connections_were_cut(
    bus: RedisBus, peer: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, UP)
    reader = Reader().follow(peer, KEY, UP)
    for n in range(30):
        writer.append(frame(n))
        if n % 10 == 5:
            server.cli("client", "kill", "type", "pubsub")
            server.cli("client", "kill", "type", "normal")
        await writer.settle()
    assert await reader.has(30) == list(range(1, 31))
