from __future__ import annotations

import asyncio

import pytest

from legato.bus.base import Direction
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.inbox import Inbox
from legato.bus.redis.keys import Keys
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.readers import Readers
from legato.errors import BusUnavailable
from tests.contract.buses import Reader, arrive, stream
from tests.unit.bus.redis.fakes import FakeServers


class Desk:
    """All readers of a process, and the servers that they talk to."""

    def __init__(self, look_every: float = 3600.0) -> None:
        self.servers = FakeServers()
        self.inbox = Inbox(lambda _engine: None)
        keys, config = Keys("legato"), RedisConfig(look_every=look_every)
        pushes = Pushes(self.servers, keys)
        self.readers = Readers(self.servers, self.inbox, pushes, keys=keys, config=config)

    def follow(self, name: str = "s1") -> Reader:
        reader = Reader()
        self.readers.follow(
            stream(name), Direction.UP, reader.deliver, after=0, closed=reader.closed
        )
        return reader

    def names(self) -> list[list[bytes]]:
        """The names of the commands of each call."""
        return [[command[0] for command in call] for call in self.servers.take()]


@pytest.fixture
async def desk() -> Desk:
    return Desk()


LISTED = [b"EVALSHA", b"HMGET", b"XRANGE"]


async def test_a_reader_waits_for_a_channel_to_be_told_on(desk: Desk) -> None:
    desk.follow()
    await asyncio.sleep(0)
    assert desk.names() == []
    desk.readers.move("aa")
    assert desk.names() == [LISTED]


async def test_a_reader_is_listed_with_the_next_turn(desk: Desk) -> None:
    desk.readers.move("aa")
    desk.follow()
    assert desk.names() == []
    await asyncio.sleep(0)
    assert desk.names() == [LISTED]


async def test_all_readers_move_to_a_new_channel(desk: Desk) -> None:
    desk.readers.move("aa")
    desk.follow("s1")
    desk.follow("s2")
    await asyncio.sleep(0)
    desk.servers.take()
    desk.readers.move("bb")
    assert desk.names() == [LISTED, LISTED]


async def test_a_reader_that_goes_is_taken_off_the_list(desk: Desk) -> None:
    desk.readers.move("aa")
    follower = desk.readers.follow(stream(), Direction.DOWN, lambda _: None, after=0, closed=None)
    await asyncio.sleep(0)
    desk.servers.take()
    follower.close()
    ((command,),) = desk.servers.take()
    assert command[3:] == [b"legato:{default/s1}:r", b"dr", b"aa/%d" % follower.handle]
    assert len(desk.readers) == 0


async def test_a_log_that_stays_silent_is_looked_at_and_ever_more_rarely() -> None:
    desk = Desk(look_every=0.001)
    desk.follow()
    await arrive(lambda: len(desk.servers.asked) == 1)
    for _ in range(3):
        desk.servers.answer([b"i", None, None], [])
        await arrive(lambda: len(desk.servers.asked) == 1)
    desk.readers.close()


async def test_all_can_be_ended(desk: Desk) -> None:
    readers = [desk.follow("s1"), desk.follow("s2")]
    desk.readers.end(BusUnavailable("away"))
    for reader in readers:
        assert isinstance(await reader.end(), BusUnavailable)
    assert len(desk.readers) == 0
