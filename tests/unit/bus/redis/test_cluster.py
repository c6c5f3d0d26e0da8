"""A Cluster whose nodes go, move and hang; the contract has the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from legato.bus.base import Direction, StreamKey
from legato.bus.redis import RedisBus, RedisConfig
from legato.bus.redis.keys import Keys, slot
from legato.errors import BusUnavailable
from tests.contract.buses import Reader, arrive, frame, settled, stream
from tests.redis_server import RedisServer, shared_cluster, start_cluster

UP = Direction.UP


@pytest.fixture
def nodes() -> tuple[RedisServer, ...]:
    nodes = shared_cluster()
    for node in nodes:
        node.cli("flushall")
    return nodes


@pytest.fixture(scope="module")
def own_nodes() -> Iterator[list[RedisServer]]:
    nodes = start_cluster()
    yield nodes
    for node in nodes:
        node.stop()


@pytest_asyncio.fixture
async def bus(nodes: tuple[RedisServer, ...]) -> AsyncIterator[RedisBus]:
    bus = await RedisBus.open(RedisConfig(url=nodes[1].url))
    yield bus
    await bus.close()


def keys_on(number: int, count: int) -> list[StreamKey]:
    """Streams that are on the node of this number when all is as it was."""
    bounds = ((0, 5460), (5461, 10922), (10923, 16383))[number]
    found = []
    for n in range(10_000):
        key = stream(f"s{n}")
        if bounds[0] <= slot(Keys("legato").stream(key).record) <= bounds[1]:
            found.append(key)
            if len(found) == count:
                return found
    raise AssertionError("no such stream")


async def test_streams_are_spread_over_the_nodes(
    bus: RedisBus, nodes: tuple[RedisServer, ...]
) -> None:
    for number in range(3):
        for key in keys_on(number, 4):
            await bus.logs.create(key, ttl=60)
    assert [len(node.cli("keys", "*:r").split()) for node in nodes] == [4, 4, 4]


async def test_each_node_has_an_epoch(bus: RedisBus, nodes: tuple[RedisServer, ...]) -> None:
    def epochs() -> list[int]:
        return [len(node.cli("keys", "legato:e:*").split()) for node in nodes]

    await arrive(lambda: epochs() == [1, 1, 1])
    peer = await RedisBus.open(RedisConfig(url=nodes[0].url))
    await arrive(lambda: peer.is_idle)
    assert epochs() == [1, 1, 1]
    await peer.close()


async def test_a_slot_that_moves_is_followed(bus: RedisBus, nodes: tuple[RedisServer, ...]) -> None:
    (key,) = keys_on(0, 1)
    await bus.logs.create(key, ttl=60)
    reader = Reader().follow(bus, key, UP)
    writer = await settled(bus.logs.writer(key, UP), frame(0))
    await reader.has(1)
    move(nodes, slot(Keys("legato").stream(key).record), 0, 2)
    try:
        await settled(writer, frame(1))
        assert await reader.has(2) == [1, 2]
        assert await bus.logs.delete(key) == 2
    finally:
        move(nodes, slot(Keys("legato").stream(key).record), 2, 0)


def move(nodes: tuple[RedisServer, ...], number: int, source: int, target: int) -> None:
    """Move a slot and what is in it, as `redis-cli --cluster reshard` does."""
    ids = [node.cli("cluster", "myid").strip() for node in nodes]
    nodes[target].cli("cluster", "setslot", str(number), "importing", ids[source])
    nodes[source].cli("cluster", "setslot", str(number), "migrating", ids[target])
    port = str(nodes[target].port)
    while keys := nodes[source].cli("cluster", "getkeysinslot", str(number), "100").split():
        nodes[source].cli("migrate", "127.0.0.1", port, "", "0", "5000", "keys", *keys)
    for node in (nodes[target], nodes[source], *nodes):
        node.cli("cluster", "setslot", str(number), "node", ids[target])


async def test_a_key_that_has_moved_ahead_of_its_slot_is_asked_for_where_it_is(
    bus: RedisBus, nodes: tuple[RedisServer, ...]
) -> None:
    name = next(name for n in range(100) if slot(Keys("legato").blob("a", name := f"b{n}")) < 5000)
    number = slot(Keys("legato").blob("a", name))
    ids = [node.cli("cluster", "myid").strip() for node in nodes]
    nodes[1].cli("cluster", "setslot", str(number), "importing", ids[0])
    nodes[0].cli("cluster", "setslot", str(number), "migrating", ids[1])
    try:
        await bus.blobs.put("a", name, b"v")
        counts = [node.cli("cluster", "countkeysinslot", str(number)) for node in nodes[:2]]
        assert [int(count) for count in counts] == [0, 1]
        assert await bus.blobs.get("a", name) == b"v"
        assert await bus.blobs.delete("a", name)
    finally:
        for node in (nodes[1], nodes[0]):
            node.cli("cluster", "setslot", str(number), "stable")


async def test_channels_of_processes_are_spread_and_heard(
    bus: RedisBus, nodes: tuple[RedisServer, ...]
) -> None:
    await bus.probe()
    heard = [node.cli("pubsub", "shardchannels").split() for node in nodes]
    assert sum(map(len, heard)) == 1


async def test_a_bus_goes_on_while_a_node_is_away(own_nodes: list[RedisServer]) -> None:
    for node in own_nodes:
        node.cli("config", "set", "cluster-require-full-coverage", "no")
    config = RedisConfig(url=own_nodes[0].url, attempt=0.2, patience=1.0)
    bus = await RedisBus.open(config)
    (here,), (away,) = keys_on(0, 1), keys_on(2, 1)
    for key in (here, away):
        await bus.logs.create(key, ttl=60)
    own_nodes[2].freeze()
    with pytest.raises(BusUnavailable):
        await bus.logs.exists(away)
    assert await asyncio.wait_for(bus.logs.exists(here), 5)
    own_nodes[2].thaw()
    await arrive(lambda: bus.is_idle)
    assert await asyncio.wait_for(bus.logs.exists(away), 5)
    await bus.close()
