import asyncio
from random import Random

import pytest

from legato.bus.redis.dialer import Dialer, Refused, keep_connected
from legato.bus.redis.link import Link, Reply, pack
from legato.errors import BusUnavailable
from tests.contract.buses import arrive
from tests.redis_server import RedisServer, free_port


class Caller:
    """An owner of connections, and what it was told."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: list[Reply] = []
        self.links: list[Link] = []
        self.losses = 0
        self.reasons: list[BusUnavailable] = []

    def dialer(self) -> Dialer:
        return Dialer(self.url, timeout=1.0)

    def make_link(self) -> Link:
        return Link(self.replies.append, lambda: None)

    def opened(self, link: Link) -> None:
        self.links.append(link)

    def lost(self) -> None:
        self.losses += 1

    def failed(self, reason: BusUnavailable) -> None:
        self.reasons.append(reason)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def test_a_link_takes_over_once_redis_py_has_connected(server: RedisServer) -> None:
    replies: list[Reply] = []
    link = Link(replies.append, lambda: None)
    line = await Dialer(server.url, timeout=1.0).dial(link)
    link.write([pack(("PING",)), pack(("ECHO", b"\x00"))])
    await arrive(lambda: len(replies) == 2)
    await line.close()
    await arrive(link.lost.is_set)
    assert replies == [b"PONG", b"\x00"]


async def test_the_user_password_and_database_of_the_url_are_used(own_server: RedisServer) -> None:
    own_server.cli("acl", "setuser", "anna", "on", ">secret", "~*", "+@all")
    replies: list[Reply] = []
    link = Link(replies.append, lambda: None)
    url = f"redis://anna:secret@127.0.0.1:{own_server.port}/3"
    line = await Dialer(url, timeout=1.0).dial(link)
    link.write([pack(("ACL", "WHOAMI")), pack(("CLIENT", "INFO"))])
    await arrive(lambda: len(replies) == 2)
    await line.close()
    assert replies[0] == b"anna"
    assert b" db=3 " in (replies[1] if isinstance(replies[1], bytes) else b"")


async def test_a_wrong_password_is_refused_without_being_shown(own_server: RedisServer) -> None:
    own_server.cli("config", "set", "requirepass", "right")
    url = f"redis://:wrong@127.0.0.1:{own_server.port}/0"
    with pytest.raises(Refused) as caught:
        await Dialer(url, timeout=1.0).dial(Link(lambda _: None, lambda: None))
    assert "wrong" not in caught.value.message
    assert not caught.value.retryable
    assert caught.value.code == "bus_unavailable"


async def test_where_nobody_listens_the_address_is_named() -> None:
    port = free_port()
    with pytest.raises(BusUnavailable, match=f"127.0.0.1:{port}") as caught:
        await Dialer(f"redis://127.0.0.1:{port}/0", timeout=1.0).dial(
            Link(lambda _: None, lambda: None)
        )
    assert caught.value.retryable


@pytest.mark.parametrize("url", ["http://127.0.0.1", "redis://127.0.0.1:port"])
def test_an_address_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="not understood"):
        Dialer(url, timeout=1.0)


def test_another_address_takes_the_place_of_the_urls() -> None:
    dialer = Dialer("redis://:secret@seed:7000/0", timeout=1.0, address=("node", 7001))
    assert dialer.address == "node:7001"


def test_a_socket_is_an_address_too() -> None:
    assert Dialer("unix:///run/redis.sock", timeout=1.0).address == "/run/redis.sock"


async def test_a_lost_connection_is_made_again(server: RedisServer) -> None:
    caller = Caller(server.url)
    task = asyncio.create_task(keep_connected(caller, Random(1)))
    await arrive(lambda: len(caller.links) == 1)
    caller.links[0].abort()
    await arrive(lambda: len(caller.links) == 2)
    assert caller.losses == 1
    await ended(task)
    assert caller.losses == 2


async def test_it_is_tried_until_somebody_listens() -> None:
    server = RedisServer(port=free_port())
    caller = Caller(server.url)
    task = asyncio.create_task(keep_connected(caller, Random(1)))
    await arrive(lambda: len(caller.reasons) >= 2)
    server.start()
    await arrive(lambda: len(caller.links) == 1)
    await ended(task)
    server.stop()
