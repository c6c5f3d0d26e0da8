"""The bus when its server goes, comes back, hangs, forgets or is full."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import uvloop

from legato.bus.base import Direction, LogWriter
from legato.bus.redis import RedisBus, RedisConfig
from legato.errors import (
    BusUnavailable,
    EpochChanged,
    LegatoError,
    Overloaded,
)
from tests.contract.buses import Reader, arrive, frame, job, settled, stream
from tests.redis_server import RedisServer, free_port

KEY, UP, DOWN = stream(), Direction.UP, Direction.DOWN


async def opened(server: RedisServer, *, attempt: float = 0.2, patience: float = 5.0) -> RedisBus:
    return await RedisBus.open(RedisConfig(url=server.url, attempt=attempt, patience=patience))


async def test_a_server_that_is_not_there_is_told_in_time() -> None:
    port = free_port()
    config = RedisConfig(url=f"redis://127.0.0.1:{port}/0", patience=0.3)
    with pytest.raises(BusUnavailable, match=str(port)):
        await RedisBus.open(config)


async def test_a_server_that_evicts_keys_is_not_used(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "maxmemory-policy", "volatile-ttl")
    with pytest.raises(BusUnavailable, match="noeviction"):
        await opened(own_server)


async def test_a_server_that_lets_nobody_listen_is_not_used(own_server: RedisServer) -> None:
    own_server.cli("acl", "setuser", "default", "resetchannels")
    with pytest.raises(BusUnavailable):
        await opened(own_server, patience=0.3)


async def test_a_probe_goes_through_both_connections(bus: RedisBus, server: RedisServer) -> None:
    await bus.probe()
    assert int(server.cli("pubsub", "numsub", "x").split()[1]) == 0
    assert len(server.cli("pubsub", "channels").split()) == 1


async def test_a_probe_of_a_server_that_hangs_fails(own_server: RedisServer) -> None:
    bus = await opened(own_server)
    own_server.freeze()
    with pytest.raises(BusUnavailable):
        await bus.probe()
    own_server.thaw()
    await bus.close()


async def test_a_server_that_comes_back_with_everything_costs_nothing(
    durable_server: RedisServer,
) -> None:
    bus, peer = await opened(durable_server), await opened(durable_server)
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(peer, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    await reader.has(1)
    durable_server.kill()
    for seq in range(1, 4):
        writer.append(frame(seq))
    durable_server.start()
    await writer.settle()
    assert await reader.has(4) == [1, 2, 3, 4]
    assert reader.entries[3].items == frame(3)
    writer.append(frame(4))
    assert await reader.has(5) == [1, 2, 3, 4, 5]
    await bus.close()
    await peer.close()


async def test_a_server_that_comes_back_with_nothing_is_told_at_both_ends(
    own_server: RedisServer,
) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(bus, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    await reader.has(1)
    own_server.kill()
    own_server.start()
    assert isinstance(await reader.end(), EpochChanged)
    with pytest.raises(EpochChanged):
        await settled(writer, frame(1))
    await bus.close()


async def test_a_server_that_comes_back_with_less_is_told_at_both_ends(
    own_server: RedisServer,
) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(bus, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0), frame(1))
    own_server.cli("save")
    await settled(writer, frame(2))
    await reader.has(3)
    own_server.kill()
    own_server.start()
    assert isinstance(await reader.end(), EpochChanged)
    with pytest.raises(EpochChanged):
        await asyncio.wait_for(settled(writer, frame(3)), 5)
    # Who comes now finds what is there, and goes on from it.
    assert len(await bus.logs.read(KEY, UP)) == 2
    assert (await settled(bus.logs.writer(KEY, UP, fence=1), frame(2))).stored == 3
    await bus.close()


async def test_a_reader_sees_that_something_else_is_in_the_place_of_what_it_had_read(
    own_server: RedisServer,
) -> None:
    bus, peer = await opened(own_server), await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(peer, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    own_server.cli("save")
    await settled(writer, frame(1))
    await reader.has(2)
    own_server.kill()
    own_server.start()
    await settled(bus.logs.writer(KEY, UP, fence=1), frame(8), frame(9))
    assert isinstance(await reader.end(), EpochChanged)
    assert reader.numbers == [1, 2]
    await bus.close()
    await peer.close()


async def test_what_is_sent_while_the_server_hangs_is_stored_once(own_server: RedisServer) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    own_server.freeze()
    writer.append(frame(1))
    writer.append(frame(2))
    # Long enough for the connection to be given up and the entries to be sent on another.
    with pytest.raises(BusUnavailable):
        await bus.probe()
    await asyncio.wait({asyncio.create_task(writer.settle())}, timeout=0.5)
    own_server.thaw()
    await asyncio.wait_for(writer.settle(), 5)
    entries = await bus.logs.read(KEY, UP)
    assert [entry.items for entry in entries] == [frame(0), frame(1), frame(2)]
    await bus.close()


async def test_who_waits_too_long_is_told_and_goes_on_by_itself(own_server: RedisServer) -> None:
    bus = await opened(own_server, patience=0.5)
    await bus.logs.create(KEY, ttl=60)
    reader = Reader().follow(bus, KEY, UP)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    await reader.has(1)
    own_server.freeze()
    writer.append(frame(1))
    with pytest.raises(BusUnavailable):
        await asyncio.wait_for(writer.settle(), 5)
    with pytest.raises(BusUnavailable):
        await bus.jobs.claim(("tone",), "w", lease=5, wait=60)
    assert isinstance(await reader.end(), BusUnavailable)
    own_server.thaw()
    assert await until_stored(writer, 2) == 2
    await bus.close()


async def until_stored(writer: LogWriter, number: int) -> int:
    await arrive(lambda: writer.stored == number)
    return number


async def test_a_replica_that_becomes_master_is_used_again(own_server: RedisServer) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    own_server.cli("replicaof", "127.0.0.1", str(free_port()))
    writer.append(frame(1))
    own_server.cli("replicaof", "no", "one")
    await asyncio.wait_for(writer.settle(), 5)
    assert writer.stored == 2
    await bus.close()


async def test_scripts_that_the_server_forgets_are_given_to_it_again(
    bus: RedisBus, server: RedisServer
) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), frame(0))
    server.cli("script", "flush")
    await settled(writer, frame(1))
    assert await bus.jobs.depth() == {}


async def test_without_memory_new_streams_are_refused_and_trimming_makes_room(
    own_server: RedisServer,
) -> None:
    bus = await opened(own_server, patience=0.3)
    await bus.logs.create(KEY, ttl=60)
    writer = await settled(bus.logs.writer(KEY, UP), *(frame(n, 100_000) for n in range(20)))
    used = int(own_server.cli("info", "memory").split("used_memory:")[1].split()[0])
    own_server.cli("config", "set", "maxmemory", str(used - 500_000))
    with pytest.raises(Overloaded):
        await bus.logs.create(stream("s2"), ttl=60)
    with pytest.raises(Overloaded):
        await bus.jobs.submit(job())
    with pytest.raises(Overloaded, match="memory"):
        await asyncio.wait_for(settled(writer, frame(20)), 5)
    await bus.logs.trim(KEY, UP, upto=15)
    assert await until_stored(writer, 21) == 21
    await bus.logs.create(stream("s2"), ttl=60)
    await bus.close()


async def test_a_short_want_of_memory_is_waited_out_and_told_to_nobody(
    own_server: RedisServer,
) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    told, failures = list[int](), list[LegatoError]()
    writer = bus.logs.writer(KEY, UP, stored=told.append, failed=failures.append)
    await settled(writer, *(frame(n, 100_000) for n in range(20)))
    used = int(own_server.cli("info", "memory").split("used_memory:")[1].split()[0])
    own_server.cli("config", "set", "maxmemory", str(used - 500_000))
    writer.append(frame(20))
    assert await bus.logs.note(KEY, "start", b"1")
    await bus.probe()
    assert told[-1] == 20
    async with asyncio.timeout(2):
        await bus.logs.trim(KEY, UP, upto=15, note=b"15")
        await arrive(lambda: told[-1] == 21)
    notes = await bus.logs.notes(KEY)
    assert {name: note.value for name, note in notes.items()} == {"start": b"1", "up": b"15"}
    assert failures == []
    await bus.close()


async def test_closing_stores_what_was_appended(bus: RedisBus, peer: RedisBus) -> None:
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, UP)
    for n in range(5):
        writer.append(frame(n))
    await bus.close()
    assert len(await peer.logs.read(KEY, UP)) == 5


async def test_a_bus_whose_server_is_away_closes_too(own_server: RedisServer) -> None:
    bus = await opened(own_server)
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, UP)
    own_server.freeze()
    writer.append(frame(0))
    await asyncio.wait_for(bus.close(), 5)
    own_server.thaw()


async def test_two_connections_serve_any_number_of_streams(
    bus: RedisBus, server: RedisServer
) -> None:
    readers = []
    for n in range(50):
        key = stream(f"s{n}")
        await bus.logs.create(key, ttl=60)
        readers.append(Reader().follow(bus, key, UP))
        bus.logs.writer(key, UP).append(frame(n))
    for reader in readers:
        await reader.has(1)
    clients = server.cli("client", "list").splitlines()
    assert (
        len([line for line in clients if "redis-cli" not in line and "cmd=client" not in line]) == 2
    )
    tasks = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    assert len(tasks) <= 3


def test_it_runs_on_uvloop(server: RedisServer) -> None:
    async def main() -> list[int]:
        bus, peer = await opened(server), await opened(server)
        await bus.logs.create(KEY, ttl=60)
        reader = Reader().follow(peer, KEY, UP)
        await settled(bus.logs.writer(KEY, UP), frame(0, 200_000), frame(1))
        numbers = await reader.has(2)
        server.cli("client", "kill", "type", "normal")
        await settled(bus.logs.writer(KEY, UP), frame(2))
        numbers = await reader.has(3)
        await bus.close()
        await peer.close()
        return numbers

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) == [1, 2, 3]


async def test_a_unix_socket_will_do(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    server = RedisServer("--unixsocket", str(path)).start()
    bus = await RedisBus.open(RedisConfig(url=f"unix://{path}"))
    await bus.logs.create(KEY, ttl=60)
    await bus.close()
    server.stop()


async def test_two_systems_share_a_server_by_their_prefixes(server: RedisServer) -> None:
    one = await RedisBus.open(RedisConfig(url=server.url, prefix="one"))
    two = await RedisBus.open(RedisConfig(url=server.url, prefix="two"))
    await one.logs.create(KEY, ttl=60)
    await one.jobs.submit(job())
    await one.registry.put("t", "k", "n", b"v")
    assert not await two.logs.exists(KEY)
    assert await two.jobs.depth() == {}
    assert await two.registry.get("t", "k", "n") is None
    await one.close()
    await two.close()


async def test_an_error_of_another_name_never_leaves_the_bus(bus: RedisBus) -> None:
    with pytest.raises(LegatoError):
        await bus.logs.read(KEY, DOWN)
