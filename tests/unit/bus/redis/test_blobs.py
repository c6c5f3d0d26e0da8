import pytest

from legato.bus.redis import RedisBus, RedisConfig
from legato.errors import Overloaded
from tests.redis_server import RedisServer
from tests.unit.bus.redis.lines import Line


async def test_a_blob_is_a_plain_string_with_its_end(bus: RedisBus, server: RedisServer) -> None:
    await bus.blobs.put("acme", "prompt", b"\x00\x01", ttl=60)
    line = Line(server)
    assert line("GET", "legato:b:{acme/prompt}") == b"\x00\x01"
    left = line("PTTL", "legato:b:{acme/prompt}")
    assert isinstance(left, int)
    assert 0 < left <= 60_001


async def test_a_blob_that_does_not_fit_is_refused(own_server: RedisServer) -> None:
    bus = await RedisBus.open(RedisConfig(url=own_server.url))
    own_server.cli("config", "set", "maxmemory", "100kb")
    with pytest.raises(Overloaded):
        await bus.blobs.put("acme", "prompt", bytes(1000))
    await bus.close()
