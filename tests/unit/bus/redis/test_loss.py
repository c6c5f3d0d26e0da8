"""Why a stream is gone: told apart from what stands in its place, and on servers that forget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from legato.bus.base import Direction
from legato.bus.redis import RedisBus, RedisConfig
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.loss import CERTAIN, TRACE, find_out
from legato.errors import (
    BusUnavailable,
    EpochChanged,
    Internal,
    LegatoError,
    SessionExpired,
)
from tests.contract.buses import Reader, arrive, frame, settled, stream
from tests.redis_server import RedisServer, start_cluster
from tests.unit.bus.redis.fakes import FakeServers

KEY, UP, DOWN = stream(), Direction.UP, Direction.DOWN
RECORD = "legato:{default/s1}:r"

TOLD = 2.0
"""Seconds within which everybody knows, once Redis answers again."""


@pytest.mark.parametrize(
    ("reply", "age", "kind"),
    [
        (0, 0, EpochChanged),
        (0, CERTAIN - 1, EpochChanged),
        (1, 0, SessionExpired),
        (0, CERTAIN + 1, SessionExpired),
        (BusUnavailable("away"), 0, BusUnavailable),
        (ReplyError("NOPERM no"), 0, BusUnavailable),
        (ReplyError("ERR no"), 0, Internal),
    ],
)
async def test_what_is_missing_tells_why(reply: Reply, age: float, kind: type) -> None:
    servers, reasons = FakeServers(), list[LegatoError]()
    seen_at = asyncio.get_running_loop().time() - age
    keys = Keys("legato").stream(KEY)
    find_out(servers, keys, KEY, seen_at=seen_at, told=reasons.append)
    servers.answer(reply)
    assert [type(reason) for reason in reasons] == [kind]
    assert CERTAIN < TRACE


class Ends:
    """All who have to do with one stream and only listen."""

    def __init__(self, bus: RedisBus, peer: RedisBus) -> None:
        self.bus = bus
        self.peer = peer
        self.failures: list[LegatoError] = []
        self.stored: list[int] = []
        self.writer = bus.logs.writer(
            KEY, UP, stored=self.stored.append, failed=self.failures.append
        )
        self.readers = [Reader().follow(peer, KEY, UP), Reader().follow(bus, KEY, DOWN)]

    async def live(self) -> None:
        await settled(self.writer, frame(0), frame(1))
        await self.readers[0].has(2)

    async def end(self) -> set[type[LegatoError]]:
        """Wait until all know, in time, and return what they were told."""
        told = [self.failures, *(reader.reasons for reader in self.readers)]
        async with asyncio.timeout(TOLD):
            await arrive(lambda: all(told))
        return {type(reason) for reasons in told for reason in reasons}


@asynccontextmanager
async def two_ends(server: RedisServer) -> AsyncIterator[Ends]:
    config = RedisConfig(url=server.url)
    bus, peer = await RedisBus.open(config), await RedisBus.open(config)
    await bus.logs.create(KEY, ttl=60)
    ends = Ends(bus, peer)
    await ends.live()
    yield ends
    await bus.close()
    await peer.close()


def flush(server: RedisServer) -> None:
    server.cli("flushall")


def crash(server: RedisServer) -> None:
    server.kill()
    server.start()


@pytest.mark.parametrize("harm", [flush, crash])
async def test_a_server_that_forgets_is_told_to_all_who_only_listen(
    own_server: RedisServer, harm: Callable[[RedisServer], None]
) -> None:
    async with two_ends(own_server) as ends:
        await asyncio.to_thread(harm, own_server)
        assert await ends.end() == {EpochChanged}
        with pytest.raises(EpochChanged):
            ends.writer.append(frame(2))
        # The name is free again, and what is made anew is not what was lost.
        await ends.bus.logs.create(KEY, ttl=60)
        assert await ends.bus.logs.read(KEY, UP) == []


async def test_what_is_appended_to_a_lost_log_is_told_to_be_lost(own_server: RedisServer) -> None:
    async with two_ends(own_server) as ends:
        own_server.cli("flushall")
        ends.writer.append(frame(2))
        with pytest.raises(EpochChanged):
            await asyncio.wait_for(ends.writer.settle(), TOLD)
        assert await ends.end() == {EpochChanged}
        assert ends.stored[-1] == 2


async def test_what_is_deleted_or_expires_is_not_lost(own_server: RedisServer) -> None:
    async with two_ends(own_server) as ends:
        await ends.bus.logs.delete(KEY)
        assert await ends.end() == {SessionExpired}
    own_server.cli("flushall")
    async with two_ends(own_server) as ends:
        await ends.bus.logs.touch(KEY, ttl=0.001)
        await arrive(lambda: not own_server.cli("keys", RECORD).strip())
        for bus in (ends.bus, ends.peer):
            bus.look()
        assert await ends.end() == {SessionExpired}


@pytest.mark.parametrize("fsync", ["everysec", "always"])
async def test_a_server_that_was_killed_and_has_everything_loses_nothing(fsync: str) -> None:
    server = RedisServer("--appendonly", "yes", "--appendfsync", fsync).start()
    async with two_ends(server) as ends:
        await ends.bus.logs.note(KEY, "start", b"1")
        server.kill()
        ends.writer.append(frame(2))
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(TOLD):
            assert await ends.readers[0].has(3) == [1, 2, 3]
            await arrive(lambda: ends.stored[-1:] == [3])
        assert (await ends.bus.logs.notes(KEY))["start"].value == b"1"
        await settled(ends.bus.logs.writer(KEY, DOWN), frame(7))
        assert await ends.readers[1].has(1) == [1]
        assert ends.failures == []
    server.stop()


async def test_a_server_that_hangs_for_three_seconds_costs_and_doubles_nothing(
    own_server: RedisServer,
) -> None:
    async with two_ends(own_server) as ends:
        own_server.freeze()
        for seq in range(2, 32):
            ends.writer.append(frame(seq))
            await asyncio.sleep(0.1)
        own_server.thaw()
        async with asyncio.timeout(TOLD):
            await ends.readers[0].has(32)
            await arrive(lambda: ends.stored[-1:] == [32])
        assert [entry.items for entry in ends.readers[0].entries] == [frame(n) for n in range(32)]
        assert ends.stored == sorted(set(ends.stored))
        assert ends.failures == []
        assert ends.readers[1].reasons == []


async def test_a_node_of_a_cluster_that_forgets_is_told_of_its_own_streams_only() -> None:
    nodes = start_cluster()
    bus = await RedisBus.open(RedisConfig(url=nodes[0].url))
    keys = [stream(f"s{n}") for n in range(12)]
    failures: dict[str, list[LegatoError]] = {key.stream_id: [] for key in keys}
    writers = []
    for key in keys:
        await bus.logs.create(key, ttl=60)
        failed = failures[key.stream_id].append
        writers.append(await settled(bus.logs.writer(key, UP, failed=failed), frame(0)))
    lost = {key for key in keys if nodes[1].cli("keys", f"*/{key.stream_id}}}:r").strip()}
    assert 0 < len(lost) < len(keys)
    await asyncio.to_thread(nodes[1].cli, "flushall")
    async with asyncio.timeout(TOLD):
        await arrive(lambda: all(failures[key.stream_id] for key in lost))
    for key, writer in zip(keys, writers, strict=True):
        told = [type(reason) for reason in failures[key.stream_id]]
        assert told == ([EpochChanged] if key in lost else [])
        if key not in lost:
            await settled(writer, frame(1))
    await bus.close()
    for node in nodes:
        node.stop()
