from random import Random

import pytest

from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.link import ReplyError
from legato.bus.redis.servers import SingleServer, ask, call
from legato.errors import Internal, Overloaded
from tests.redis_server import RedisServer


def single(server: RedisServer) -> SingleServer:
    config = RedisConfig(url=server.url)
    return SingleServer(Dialer(server.url, timeout=1.0), config, Random(1))


async def test_replies_are_returned_in_order(server: RedisServer) -> None:
    servers = single(server)
    assert await ask(servers, "k", ("SET", "k", "v"), ("GET", "k")) == [b"OK", b"v"]
    assert servers.is_idle
    await servers.close()


async def test_an_error_among_the_replies_is_raised(server: RedisServer) -> None:
    servers = single(server)
    with pytest.raises(Internal, match="NONSENSE"):
        await ask(servers, "k", ("PING",), ("NONSENSE",))
    _, error = await call(servers, "k", ("PING",), ("NONSENSE",))
    assert isinstance(error, ReplyError)
    await servers.close()


async def test_a_server_without_memory_is_overloaded(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "maxmemory", "100kb")
    servers = single(own_server)
    with pytest.raises(Overloaded):
        await ask(servers, "k", ("SET", "k", "v"))
    await servers.close()


async def test_every_channel_has_a_name_of_its_own(server: RedisServer) -> None:
    servers = single(server)
    picked = {servers.pick_channel()[1] for _ in range(10)}
    assert len(picked) == 10
    await servers.close()
