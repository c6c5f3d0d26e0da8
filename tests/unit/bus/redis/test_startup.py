from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from legato.bus.redis.call import Call
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer, Refused
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.servers import SingleServer
from legato.bus.redis.startup import check_server
from tests.redis_server import RedisServer
from tests.unit.bus.redis.fakes import FakeServers


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[SingleServer]:
    servers = SingleServer(Dialer(url, timeout=1.0), RedisConfig(url=url), Random(1))
    yield servers
    await servers.close()


class Answering(FakeServers):
    """Answers at once."""

    def __init__(self, info: Reply, policy: Reply) -> None:
        super().__init__()
        self.replies = [info, policy]

    def submit(self, call: Call) -> None:
        super().submit(call)
        self.answer(*self.replies)


async def test_a_server_as_it_comes_will_do(server: RedisServer) -> None:
    async with connected(server.url) as servers:
        assert await check_server(servers) is False


async def test_a_server_that_evicts_keys_is_refused(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "maxmemory-policy", "allkeys-lru")
    async with connected(own_server.url) as servers:
        with pytest.raises(Refused, match=r"allkeys-lru.*noeviction"):
            await check_server(servers)


async def test_a_server_that_does_not_tell_is_taken_with_a_warning(
    own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.cli("acl", "setuser", "anna", "on", ">secret", "~*", "&*", "+@all", "-config")
    url = f"redis://anna:secret@127.0.0.1:{own_server.port}/0"
    async with connected(url) as servers:
        assert await check_server(servers) is False
    assert "noeviction" in caplog.text


async def test_a_server_that_is_too_old_is_refused() -> None:
    old = Answering(b"redis_version:6.2.14\r\n", [b"maxmemory-policy", b"noeviction"])
    with pytest.raises(Refused, match=r"6\.2 is too old"):
        await check_server(old)


async def test_a_node_of_a_cluster_is_known() -> None:
    info = b"redis_version:7.0.15\r\ncluster_enabled:1\r\n"
    assert await check_server(Answering(info, [b"maxmemory-policy", b"noeviction"]))


async def test_a_server_that_tells_nothing_is_taken() -> None:
    silent = Answering(ReplyError("NOPERM no"), ReplyError("NOPERM no"))
    assert await check_server(silent) is False
