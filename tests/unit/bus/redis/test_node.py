from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from legato.bus.redis import scripts
from legato.bus.redis.call import Call, Unknown, into_future
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.link import Command, Reply, ReplyError
from legato.bus.redis.node import Node
from legato.errors import BusUnavailable
from tests.contract.buses import arrive
from tests.redis_server import RedisServer, free_port


@asynccontextmanager
async def node_of(
    server: RedisServer, *, attempt: float = 0.2, patience: float = 3.0
) -> AsyncIterator[Node]:
    config = RedisConfig(url=server.url, attempt=attempt, patience=patience)
    node = Node(Dialer(server.url, timeout=attempt), config, rng=Random(1))
    try:
        yield node
    finally:
        await node.close()


def begin(node: Node, *commands: Command, once: bool = False) -> asyncio.Future[list[Reply]]:
    future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    node.submit(Call("k", commands, into_future(future), once=once))
    return future


async def ask(node: Node, *commands: Command) -> list[Reply]:
    return await asyncio.wait_for(begin(node, *commands), 10)


async def test_every_call_gets_its_own_replies(server: RedisServer) -> None:
    async with node_of(server) as node:
        calls = [begin(node, ("ECHO", f"a{n}"), ("ECHO", f"b{n}")) for n in range(50)]
        replies = await asyncio.wait_for(asyncio.gather(*calls), 10)
    assert replies == [[f"a{n}".encode(), f"b{n}".encode()] for n in range(50)]
    assert node.is_idle


async def test_calls_are_carried_out_in_order(server: RedisServer) -> None:
    async with node_of(server) as node:
        calls = [begin(node, ("RPUSH", "list", n)) for n in range(50)]
        await asyncio.wait_for(asyncio.gather(*calls), 10)
        assert await ask(node, ("LRANGE", "list", 0, -1)) == [[b"%d" % n for n in range(50)]]


async def test_an_error_that_will_not_pass_is_a_reply(server: RedisServer) -> None:
    async with node_of(server) as node:
        first, second = await ask(node, ("NONSENSE",), ("ECHO", "a"))
    assert isinstance(first, ReplyError)
    assert second == b"a"


async def test_a_server_that_has_lost_the_scripts_is_given_them_again(server: RedisServer) -> None:
    async with node_of(server) as node:
        assert await ask(node, scripts.DEPTH(("{jobs}:e",), "{jobs}")) == [[]]
        await ask(node, ("SCRIPT", "FLUSH"))
        assert await ask(node, scripts.DEPTH(("{jobs}:e",), "{jobs}")) == [[]]


async def test_a_script_is_given_again_however_long_the_server_was_loading(
    server: RedisServer,
) -> None:
    async with node_of(server) as node:
        await ask(node, ("SCRIPT", "FLUSH"))
        replies: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
        depth = scripts.DEPTH(("{jobs}:e",), "{jobs}")
        call = Call("{jobs}:e", (depth,), into_future(replies))
        call.tries = 100  # as LOADING was the answer so often
        node.submit(call)
        assert await replies == [[]]


async def test_a_script_that_a_server_does_not_keep_is_an_error_at_last(
    server: RedisServer,
) -> None:
    async with node_of(server) as node:
        (reply,) = await ask(node, ("EVALSHA", "0" * 40, 0))
    assert isinstance(reply, ReplyError)


async def test_calls_outlive_the_connection(server: RedisServer) -> None:
    async with node_of(server) as node:
        await ask(node, ("PING",))
        server.cli("client", "kill", "type", "normal")
        assert await ask(node, ("ECHO", "a")) == [b"a"]


async def test_a_server_that_goes_and_comes_back_is_told_to_the_log_once(
    durable_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    def lines() -> tuple[int, int]:
        return caplog.text.count("cannot be reached"), caplog.text.count("answers again")

    async with node_of(durable_server) as node:
        await ask(node, ("PING",))
        durable_server.kill()
        call = begin(node, ("PING",))
        await arrive(lambda: lines() == (1, 0))
        durable_server.start()
        assert await asyncio.wait_for(call, 10) == [b"PONG"]
    assert lines() == (1, 1)


async def test_calls_outlive_the_server(durable_server: RedisServer) -> None:
    async with node_of(durable_server) as node:
        await ask(node, ("SET", "k", "v"))
        durable_server.kill()
        call = begin(node, ("GET", "k"))
        durable_server.start()
        assert await asyncio.wait_for(call, 10) == [b"v"]


async def test_calls_outlive_a_server_that_hangs_for_a_while(own_server: RedisServer) -> None:
    async with node_of(own_server) as node:
        await ask(node, ("PING",))
        own_server.freeze()
        call = begin(node, scripts.DEPTH(("{jobs}:e",), "{jobs}"))
        await arrive(lambda: not node.is_up)
        own_server.thaw()
        assert await asyncio.wait_for(call, 10) == [[]]


async def test_a_call_to_a_server_that_hangs_ends_in_time(own_server: RedisServer) -> None:
    async with node_of(own_server, patience=0.5) as node:
        await ask(node, ("PING",))
        own_server.freeze()
        with pytest.raises(BusUnavailable):
            await ask(node, ("PING",))
        assert node.is_idle or not node.is_up
        own_server.thaw()
        assert await ask(node, ("ECHO", "a")) == [b"a"]


async def test_a_call_to_a_server_that_is_not_there_ends_in_time() -> None:
    absent = RedisServer(port=free_port())
    async with node_of(absent, patience=0.3) as node:
        with pytest.raises(BusUnavailable, match=str(absent.port)):
            await ask(node, ("PING",))


async def test_a_call_to_a_server_that_lets_nobody_in_ends_at_once(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "requirepass", "secret")
    own_server_url = f"redis://:wrong@127.0.0.1:{own_server.port}/0"
    config = RedisConfig(url=own_server_url, patience=3600)
    node = Node(Dialer(own_server_url, timeout=1.0), config, rng=Random(1))
    for _ in range(2):
        with pytest.raises(BusUnavailable):
            await ask(node, ("PING",))
    await node.close()


async def test_a_replica_is_left_alone_until_it_is_a_master(own_server: RedisServer) -> None:
    async with node_of(own_server) as node:
        await ask(node, ("SET", "k", "v"))
        own_server.cli("replicaof", "127.0.0.1", str(free_port()))
        call = begin(node, ("SET", "k", "w"))
        await arrive(lambda: not node.is_up)
        own_server.cli("replicaof", "no", "one")
        assert await asyncio.wait_for(call, 10) == [b"OK"]


async def test_closing_ends_what_has_no_outcome_yet(own_server: RedisServer) -> None:
    async with node_of(own_server) as node:
        await ask(node, ("PING",))
        own_server.freeze()
        sent = begin(node, ("PING",))
        await arrive(lambda: not node.is_idle)
    with pytest.raises(BusUnavailable, match="closed"):
        await sent
    with pytest.raises(BusUnavailable, match="closed"):
        await begin(node, ("PING",))


async def test_a_caller_that_raises_is_reported_and_the_others_go_on(server: RedisServer) -> None:
    reported: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: reported.append(context["exception"])
    )

    def fail(_outcome: object) -> None:
        raise RuntimeError("caller is broken")

    async with node_of(server) as node:
        node.submit(Call("k", [("PING",)], fail))
        assert await ask(node, ("ECHO", "a")) == [b"a"]
    assert [str(error) for error in reported] == ["caller is broken"]


async def test_what_may_be_sent_only_once_is_not_sent_again(own_server: RedisServer) -> None:
    async with node_of(own_server) as node:
        await ask(node, ("PING",))
        own_server.freeze()
        sent = begin(node, ("INCR", "n"), once=True)
        with pytest.raises(Unknown):
            await asyncio.wait_for(sent, 10)
        with pytest.raises(Unknown):
            await begin(node, ("INCR", "n"), once=True)
        own_server.thaw()
        assert await ask(node, ("PING",)) == [b"PONG"]
        assert await asyncio.wait_for(begin(node, ("INCR", "m"), once=True), 5) == [1]


async def test_what_may_be_sent_only_once_is_not_sent_again_after_an_error_that_passes(
    own_server: RedisServer,
) -> None:
    async with node_of(own_server) as node:
        await ask(node, ("PING",))
        own_server.cli("replicaof", "127.0.0.1", str(free_port()))
        with pytest.raises(Unknown):
            await asyncio.wait_for(begin(node, ("INCR", "n"), once=True), 5)


async def test_what_is_handed_back_can_be_asked_elsewhere(
    server: RedisServer, own_server: RedisServer
) -> None:
    own_server.freeze()
    async with node_of(own_server) as hung, node_of(server) as other:
        call = begin(hung, ("ECHO", "a"))
        await asyncio.sleep(0)
        for handed in hung.hand_back():
            other.submit(handed)
        assert await asyncio.wait_for(call, 10) == [b"a"]
        assert hung.is_idle or not hung.is_up
        own_server.thaw()
        assert await ask(hung, ("ECHO", "b")) == [b"b"]


async def test_trouble_is_told() -> None:
    absent = RedisServer(port=free_port())
    told: list[str] = []
    node = Node(
        Dialer(absent.url, timeout=1.0),
        RedisConfig(url=absent.url),
        rng=Random(1),
        troubled=lambda: told.append("trouble"),
    )
    await arrive(lambda: bool(told))
    await node.close()
