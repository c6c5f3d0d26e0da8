from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.keys import Keys
from legato.bus.redis.servers import SingleServer
from legato.bus.redis.subscriber import Subscriber
from legato.errors import BusUnavailable
from tests.contract.buses import arrive
from tests.redis_server import RedisServer, free_port
from tests.unit.bus.redis.lines import Line


class Ear:
    """A subscriber and what it has told."""

    def __init__(self, server: RedisServer, *, attempt: float, patience: float) -> None:
        config = RedisConfig(url=server.url, attempt=attempt, patience=patience)
        self.servers = SingleServer(Dialer(server.url, timeout=attempt), config, Random(1))
        self.heard: list[bytes] = []
        self.tokens: list[str] = []
        self.reasons: list[BusUnavailable] = []
        self.subscriber = Subscriber(
            self.servers,
            Keys("legato"),
            config,
            rng=Random(1),
            heard=self.heard.append,
            moved=lambda: self.tokens.append(self.subscriber.token),
            silent=self.reasons.append,
        )


@asynccontextmanager
async def ear(
    server: RedisServer, *, attempt: float = 1.0, patience: float = 5.0
) -> AsyncIterator[Ear]:
    ear = Ear(server, attempt=attempt, patience=patience)
    yield ear
    await ear.subscriber.close()
    await ear.servers.close()


async def test_what_is_published_is_heard_in_order(server: RedisServer) -> None:
    line = Line(server)
    async with ear(server) as listener:
        await arrive(lambda: len(listener.tokens) == 1)
        for n in range(3):
            assert line("PUBLISH", f"legato:p:{{{listener.tokens[0]}}}", b"%d" % n) == 1
        await arrive(lambda: len(listener.heard) == 3)
    assert listener.heard == [b"0", b"1", b"2"]


async def test_after_a_loss_there_is_a_new_channel_and_nobody_on_the_old_one(
    server: RedisServer,
) -> None:
    line = Line(server)
    async with ear(server) as listener:
        await arrive(lambda: len(listener.tokens) == 1)
        server.cli("client", "kill", "type", "pubsub")
        await arrive(lambda: len(listener.tokens) == 2)
        old, new = (f"legato:p:{{{token}}}" for token in listener.tokens)
        assert old != new
        assert line("PUBLISH", old, "late") == 0
        assert line("PUBLISH", new, "now") == 1
        await arrive(lambda: listener.heard == [b"now"])
    assert listener.reasons == []


async def test_a_server_that_hangs_is_noticed(own_server: RedisServer) -> None:
    async with ear(own_server, attempt=0.1) as listener:
        await arrive(lambda: len(listener.tokens) == 1)
        own_server.freeze()
        await arrive(lambda: listener.subscriber.token == "")
        own_server.thaw()
        await arrive(lambda: len(listener.tokens) == 2)


async def test_a_server_that_stays_silent_but_lives_is_kept(own_server: RedisServer) -> None:
    line = Line(own_server)
    async with ear(own_server, attempt=0.3) as listener:
        await arrive(lambda: len(listener.tokens) == 1)
        before = pings(line)
        await arrive(lambda: pings(line) > before)
        assert len(listener.tokens) == 1


def pings(line: Line) -> int:
    said = line("INFO", "commandstats")
    assert isinstance(said, bytes)
    return int(said.partition(b"cmdstat_ping:calls=")[2].partition(b",")[0])


async def test_what_cannot_be_heard_for_too_long_is_told() -> None:
    absent = RedisServer(port=free_port())
    async with ear(absent, patience=0.1) as listener:
        await arrive(lambda: len(listener.reasons) == 1)
    assert str(absent.port) in listener.reasons[0].message


async def test_who_may_not_subscribe_is_told_why(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "acl-pubsub-default", "resetchannels")
    own_server.cli("acl", "setuser", "default", "resetchannels")
    async with ear(own_server, patience=0.1) as listener:
        await arrive(lambda: len(listener.reasons) == 1)
    assert "NOPERM" in listener.reasons[0].message
