from legato.bus.redis import RedisBus
from tests.redis_server import RedisServer
from tests.unit.bus.redis.lines import Line


async def test_records_that_have_outlived_their_time_go_by_and_by(
    bus: RedisBus, server: RedisServer
) -> None:
    for n in range(20):
        await bus.registry.put("default", "ticket", f"t{n}", b"v", ttl=0.001)
    await bus.registry.put("default", "ticket", "last", b"v")
    line = Line(server)
    # The field beside the record is the last version.
    while line("HLEN", "legato:k:{default/ticket}") != 2:
        await bus.registry.put("default", "ticket", "last", b"v")
    assert list(await bus.registry.list("default", "ticket")) == ["last"]


async def test_the_key_of_a_kind_goes_with_its_last_record(
    bus: RedisBus, server: RedisServer
) -> None:
    await bus.registry.put("default", "voice", "anna", b"v")
    await bus.registry.increment("default", "voice", "n", ttl=60)
    await bus.registry.delete("default", "voice", "anna")
    await bus.registry.delete("default", "voice", "n")
    left = Line(server)("KEYS", "legato:k:*")
    assert isinstance(left, list)
    assert [key for key in left if b":o:" not in key] == []


async def test_values_with_separators_are_kept_as_they_are(bus: RedisBus) -> None:
    await bus.registry.put("default", "voice", "a:b", b"1:2:3\x00\n")
    records = await bus.registry.list("default", "voice")
    assert [(name, record.value) for name, record in records.items()] == [("a:b", b"1:2:3\x00\n")]
