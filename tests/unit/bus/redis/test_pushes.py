import asyncio
from collections.abc import Sequence

import pytest

from legato.bus.redis.encoding import Delivered, Push, decode_push, encode_entry
from legato.bus.redis.keys import Keys
from legato.bus.redis.pushes import INLINE_BYTES, Pushes
from legato.errors import BusUnavailable
from tests.contract.buses import frame
from tests.unit.bus.redis.fakes import FakeServers, commands

PLACE = ("legato:{a/b}:r", "ur")


@pytest.fixture
def servers() -> FakeServers:
    return FakeServers()


@pytest.fixture
def pushes(servers: FakeServers) -> Pushes:
    return Pushes(servers, Keys("legato"))


def entry(seq: int, size_bytes: int = 4) -> bytes:
    return encode_entry(frame(seq, size_bytes))


Message = tuple[bytes, Sequence[Delivered], Push]


async def flushed(servers: FakeServers) -> list[Message]:
    """Channel and content of each message of this turn."""
    await asyncio.sleep(0)
    calls = servers.take()
    assert all(command[0] == b"PUBLISH" for (command,) in calls)
    return [(command[1], *decode_push(command[2])) for (command,) in calls]


async def test_what_a_process_is_told_in_a_turn_goes_in_one_message(
    pushes: Pushes, servers: FakeServers
) -> None:
    pushes.entries("aa/1 bb/7", 5, "k", [entry(1), entry(2)], PLACE)
    pushes.entries("aa/2", 9, "k", [entry(3)], PLACE)
    pushes.looks("aa/3")
    pushes.job(["aa"], "tone")
    assert not pushes.is_idle
    first, second = await flushed(servers)
    assert first[:2] == (
        b"legato:p:{aa}",
        [(1, 5, "k", [frame(1), frame(2)]), (2, 9, "k", [frame(3)])],
    )
    assert (first[2].looks, first[2].engines) == ([3], ["tone"])
    assert second[:2] == (b"legato:p:{bb}", [(7, 5, "k", [frame(1), frame(2)])])
    assert pushes.is_idle


async def test_a_message_that_would_grow_too_large_is_cut_in_two(
    pushes: Pushes, servers: FakeServers
) -> None:
    for n in range(3):
        pushes.entries("aa/1", n, "k", [entry(n, INLINE_BYTES // 2)], PLACE)
    assert len(await flushed(servers)) == 3


async def test_who_is_told_of_a_large_entry_reads_it_from_the_log(
    pushes: Pushes, servers: FakeServers
) -> None:
    pushes.entries("aa/1", 1, "k", [entry(1, INLINE_BYTES + 1)], PLACE)
    ((_, entries, rest),) = await flushed(servers)
    assert (entries, rest.looks) == ([], [1])


async def test_a_channel_that_nobody_hears_is_taken_off_the_lists(
    pushes: Pushes, servers: FakeServers
) -> None:
    pushes.entries("aa/1", 1, "k", [entry(1)], PLACE)
    await asyncio.sleep(0)
    servers.answer(0)
    ((name, _, *arguments),) = commands(servers.asked[0])
    assert name == b"EVALSHA"
    assert arguments == [b"1", b"legato:{a/b}:r", b"ur", b"aa/"]
    servers.answer(b"bb/2")
    ((channel, _, push),) = await flushed(servers)
    assert (channel, push.looks) == (b"legato:p:{bb}", [2]), "its writers are told"


@pytest.mark.parametrize("reply", [1, BusUnavailable()], ids=["heard", "unknown"])
async def test_a_channel_that_may_be_heard_stays_on_the_lists(
    pushes: Pushes, servers: FakeServers, reply: object
) -> None:
    pushes.entries("aa/1", 1, "k", [entry(1)], PLACE)
    await asyncio.sleep(0)
    servers.answer(reply)
    assert servers.take() == []


async def test_nothing_is_sent_after_the_end(pushes: Pushes, servers: FakeServers) -> None:
    pushes.looks("aa/1")
    pushes.close()
    await asyncio.sleep(0)
    assert servers.take() == []
