"""A writer against servers that answer what the test says; the real ones are in the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from legato.bus.base import Direction
from legato.bus.redis.call import Unknown
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.encoding import decode_entry, decode_push
from legato.bus.redis.gauge import Gauge
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.outbox import Outbox
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.report import Report
from legato.bus.redis.writer import BATCH_ENTRIES, DOUBTS, RedisWriter
from legato.errors import (
    BusUnavailable,
    EpochChanged,
    Internal,
    LegatoError,
    Overloaded,
    SessionExpired,
    SessionReplaced,
)
from legato.protocol.media import AudioFrame
from tests.contract.buses import arrive, frame, stream
from tests.unit.bus.redis.fakes import FakeServers, commands

OOM = ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
RECORD = b"legato:{default/s1}:r"


class Desk:
    """A writer and the servers that it talks to."""

    def __init__(self, patience: float = 3600.0) -> None:
        self.servers = FakeServers()
        keys = Keys("legato")
        config = RedisConfig(log_bytes=10_000, patience=patience)
        self.outbox = Outbox(self.servers, Pushes(self.servers, keys), keys, config)
        self.gauge = Gauge()
        self.token = b""
        self.told: list[int] = []
        self.failures: list[LegatoError] = []
        self.writer = RedisWriter(
            stream(),
            Direction.UP,
            fence=3,
            name="w",
            gauge=self.gauge,
            outbox=self.outbox,
            report=Report(self.told.append, self.failures.append),
        )

    async def asked(self) -> list[bytes]:
        """Wait for a call and return its last command."""
        await arrive(lambda: bool(self.servers.asked))
        return commands(self.servers.asked[0])[-1]

    async def take(
        self,
        mine: int = 0,
        last: int = 0,
        *,
        stored: int = 0,
        trimmed: int = 0,
        readers: bytes = b"",
        told: bytes = b"",
    ) -> list[bytes]:
        """Let the writer take the log, and return what it said of itself."""
        name, _, _, record, *identity, self.token, _watcher = await self.asked()
        assert (name, record) == (b"EVALSHA", RECORD)
        self.servers.answer([b"ok", b"i", mine, last, stored, trimmed, readers, told])
        return identity

    async def append(self, *seqs: int, size_bytes: int = 4) -> list[bytes]:
        """Append entries and return the command that stores them."""
        for seq in seqs:
            self.writer.append(frame(seq, size_bytes))
        return await self.asked()

    def stored(self) -> None:
        """Say that the entries were stored."""
        self.servers.answer(commands(self.servers.asked[0])[0][3])


def last_and_seqs(command: list[bytes]) -> tuple[int, list[int]]:
    """Number of the last entry that a command stores, and the frames in all of them."""
    assert command[0] == b"XADD"
    frames = [item for data in command[7::2] for item in decode_entry(data)]
    assert all(isinstance(item, AudioFrame) for item in frames)
    return int(command[3].removesuffix(b"-0")), [
        item.seq for item in frames if isinstance(item, AudioFrame)
    ]


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    desk.writer.open("aa/1")
    await desk.take()
    yield desk
    desk.outbox.close()


async def test_a_writer_takes_the_log_before_it_writes() -> None:
    desk = Desk()
    desk.writer.open("aa/1")
    desk.writer.append(frame(0))
    assert await desk.take(last=7, stored=100) == [b"u", b"", b"3", b"w"]
    name, log, option, number, *sizes = (await desk.asked())[:6]
    assert (name, log) == (b"XADD", b"legato:{default/s1}:u:" + desk.token)
    assert (option, number) == (b"NOMKSTREAM", b"8-0")
    assert sizes == [b"b", b"100 %d" % (100 + desk.gauge.pending)]
    desk.outbox.close()


async def test_what_is_appended_in_a_turn_goes_in_one_command(desk: Desk) -> None:
    assert last_and_seqs(await desk.append(0, 1, 2)) == (3, [0, 1, 2])
    assert len(desk.servers.asked) == 1


async def test_what_is_appended_meanwhile_waits_for_the_reply(desk: Desk) -> None:
    await desk.append(0)
    desk.writer.append(frame(1))
    await asyncio.sleep(0)
    assert len(desk.servers.asked) == 1
    desk.stored()
    assert last_and_seqs(await desk.asked()) == (2, [1])
    assert desk.writer.stored == 1


async def test_after_a_loss_entries_that_are_not_there_are_sent_again_under_a_new_token(
    desk: Desk,
) -> None:
    await desk.append(0, 1)
    before = desk.token
    desk.servers.answer(Unknown())
    await desk.take(mine=0, last=0)
    assert desk.token != before
    assert last_and_seqs(await desk.asked()) == (2, [0, 1])
    desk.stored()
    await desk.writer.settle()
    assert (desk.writer.stored, desk.gauge.pending) == (2, 0)


async def test_after_a_loss_entries_that_are_there_are_not_sent_again(desk: Desk) -> None:
    await desk.append(0, 1)
    desk.writer.append(frame(2))
    desk.servers.answer(Unknown())
    await desk.take(mine=2, last=2, readers=b"bb/4")
    assert desk.writer.stored == 2
    await arrive(lambda: len(desk.servers.asked) == 2)
    ((name, channel, push),), (rest,) = desk.servers.take()
    assert last_and_seqs(rest) == (3, [2])
    # Whoever reads them may not have been told.
    assert (name, channel) == (b"PUBLISH", b"legato:p:{bb}")
    assert set(decode_push(push)[1].looks) == {4}


async def test_after_a_loss_numbers_go_on_behind_what_others_stored(desk: Desk) -> None:
    await desk.append(0)
    desk.stored()
    await desk.append(1)
    desk.servers.answer(Unknown())
    await desk.take(mine=1, last=9)
    assert last_and_seqs(await desk.asked()) == (10, [1])


async def test_a_log_that_is_elsewhere_is_taken_again(desk: Desk) -> None:
    await desk.append(0)
    desk.servers.answer(None)
    await desk.take(mine=0, last=4)
    assert last_and_seqs(await desk.asked()) == (5, [0])


async def test_a_log_that_lost_what_it_had_acknowledged_is_not_written_on(desk: Desk) -> None:
    await desk.append(0, 1)
    desk.stored()
    await desk.append(2)
    desk.servers.answer(Unknown())
    await desk.take(mine=1, last=1)
    with pytest.raises(EpochChanged):
        await desk.writer.settle()
    assert desk.servers.asked == []


async def test_who_is_told_on_another_channel_takes_the_log_again(desk: Desk) -> None:
    desk.writer.open("bb/1")
    assert (await desk.asked())[-1] == b"bb/1"


async def test_a_long_backlog_is_stored_in_several_commands(desk: Desk) -> None:
    desk.outbox.config = RedisConfig()
    assert last_and_seqs(await desk.append(*range(BATCH_ENTRIES + 5)))[0] == BATCH_ENTRIES
    desk.stored()
    assert last_and_seqs(await desk.asked())[0] == BATCH_ENTRIES + 5


async def test_large_entries_are_stored_in_several_commands(desk: Desk) -> None:
    desk.outbox.config = RedisConfig()
    assert last_and_seqs(await desk.append(0, 1, 2, size_bytes=600_000)) == (1, [0])


async def test_readers_are_told_what_was_stored(desk: Desk) -> None:
    desk.writer.open("aa/1")
    await desk.take(last=3, readers=b"bb/4")
    _, _, push = await desk.asked()
    assert decode_push(push)[1].looks == [4], "there is another token"
    desk.servers.take()
    await desk.append(0, 1)
    desk.stored()
    name, channel, push = await desk.asked()
    assert (name, channel) == (b"PUBLISH", b"legato:p:{bb}")
    assert decode_push(push)[0] == [(4, 4, desk.token.decode(), [frame(0), frame(1)])]


async def test_readers_that_come_later_are_told_to_look_and_then_of_all(desk: Desk) -> None:
    desk.writer.look()
    desk.servers.answer([b"i", b"3", desk.token, None, b"bb/4"])
    _, channel, push = await desk.asked()
    assert (channel, decode_push(push)[1].looks) == (b"legato:p:{bb}", [4])
    desk.servers.take()
    await desk.append(0)
    desk.stored()
    _, _, push = await desk.asked()
    assert [entry[:2] for entry in decode_push(push)[0]] == [(4, 1)]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ([b"fenced", b"9"], SessionReplaced),
        (ReplyError("WRONGTYPE"), Internal),
    ],
)
async def test_a_writer_that_is_turned_away_writes_no_more(
    desk: Desk, reply: Reply, kind: type[Exception]
) -> None:
    await desk.append(0, 1)
    desk.servers.answer(None)
    await desk.asked()
    desk.servers.answer(reply)
    with pytest.raises(kind):
        desk.writer.append(frame(2))
    with pytest.raises(kind):
        await desk.writer.settle()
    with pytest.raises(kind):
        await desk.writer.room()
    assert desk.gauge.pending == 0
    await asyncio.sleep(0)
    assert desk.servers.asked == []


@pytest.mark.parametrize(("trace", "kind"), [(1, SessionExpired), (0, EpochChanged)])
async def test_a_writer_whose_stream_is_gone_finds_out_why(
    desk: Desk, trace: int, kind: type[Exception]
) -> None:
    await desk.append(0, 1)
    desk.servers.answer(None)
    await desk.asked()
    desk.servers.answer([b"gone"])
    assert (await desk.asked())[0] == b"EXISTS"
    desk.writer.append(frame(2))
    desk.servers.answer(trace)
    await asyncio.sleep(0)
    assert [type(reason) for reason in desk.failures] == [kind]
    with pytest.raises(kind):
        desk.writer.append(frame(3))
    assert desk.gauge.pending == 0
    assert desk.servers.asked == []


async def test_a_writer_that_cannot_ask_why_its_stream_is_gone_asks_again(desk: Desk) -> None:
    desk.writer.look()
    desk.servers.answer([None] * 5)
    desk.servers.answer(BusUnavailable("away"))
    with pytest.raises(BusUnavailable):
        desk.writer.append(frame(0))
    await desk.asked()
    desk.servers.answer([b"gone"])
    desk.servers.answer(0)
    with pytest.raises(EpochChanged):
        desk.writer.append(frame(0))
    await asyncio.sleep(0)
    assert [type(reason) for reason in desk.failures] == [EpochChanged]


async def test_a_writer_to_a_stream_that_never_was_does_not_ask_why() -> None:
    desk = Desk()
    desk.writer.open("aa/1")
    await desk.asked()
    desk.servers.answer([b"gone"])
    await asyncio.sleep(0)
    assert [type(reason) for reason in desk.failures] == [SessionExpired]
    assert desk.servers.asked == []
    desk.outbox.close()


async def test_what_is_stored_is_told_once_for_each_command(desk: Desk) -> None:
    await desk.append(0, 1, 2)
    assert desk.told == []
    desk.stored()
    await desk.append(3)
    assert desk.told == [3]
    desk.servers.answer(Unknown())
    await desk.take(mine=4, last=4)
    assert desk.told == [3, 4]


async def test_a_writer_looks_by_itself_only_if_it_is_silent_and_somebody_wants_to_know(
    desk: Desk,
) -> None:
    now = asyncio.get_running_loop().time()
    desk.writer.look_if_silent(now - 60)
    assert desk.servers.asked == []
    desk.writer.look_if_silent(now + 60)
    desk.servers.answer([b"i", b"4", b"k", None, None])
    desk.writer.look_if_silent(now + 60)
    await asyncio.sleep(0)
    assert [type(reason) for reason in desk.failures] == [SessionReplaced]
    assert desk.servers.asked == []


async def test_a_look_that_fails_tells_nothing(desk: Desk) -> None:
    desk.writer.look()
    desk.servers.answer(ReplyError("NOPERM no"))
    desk.writer.append(frame(0))
    assert last_and_seqs(await desk.asked()) == (1, [0])


async def test_a_log_that_is_not_beside_its_record_is_waited_for() -> None:
    desk = Desk(patience=0.0)
    desk.writer.open("aa/1")
    await desk.asked()
    desk.servers.answer([b"lost"])
    with pytest.raises(EpochChanged):
        desk.writer.append(frame(0))
    await desk.take()
    assert last_and_seqs(await desk.append(0)) == (1, [0])
    desk.outbox.close()


async def test_a_server_that_always_says_no_is_given_up(desk: Desk) -> None:
    desk.writer.append(frame(0))
    for _ in range(DOUBTS):
        await desk.asked()
        desk.servers.answer(ReplyError("ERR no"))
        await desk.take()
    await desk.asked()
    desk.servers.answer(ReplyError("ERR no"))
    with pytest.raises(Internal):
        await desk.writer.settle()


async def test_callers_are_told_when_the_bus_is_away_for_too_long(desk: Desk) -> None:
    await desk.append(0)
    desk.servers.answer(BusUnavailable("away"))
    with pytest.raises(BusUnavailable, match="away"):
        desk.writer.append(frame(1))
    await desk.take(mine=1, last=1)
    desk.writer.append(frame(1))
    assert last_and_seqs(await desk.asked()) == (2, [1])


async def test_a_server_without_memory_is_waited_for() -> None:
    desk = Desk(patience=0.0)
    desk.writer.open("aa/1")
    await desk.take()
    first = await desk.append(0)
    desk.servers.answer(OOM)
    with pytest.raises(Overloaded, match="memory"):
        desk.writer.append(frame(1))
    assert await desk.asked() == first
    desk.stored()
    desk.writer.append(frame(1))
    desk.outbox.close()


async def test_callers_are_not_told_of_a_short_want_of_memory(desk: Desk) -> None:
    await desk.append(0)
    desk.servers.answer(OOM)
    desk.writer.append(frame(1))
    assert last_and_seqs(await desk.asked()) == (2, [0, 1])


async def test_appending_stops_at_twice_the_bound_counting_what_is_on_its_way(desk: Desk) -> None:
    desk.gauge.stored = 15_000
    desk.writer.append(frame(1, 4_000))
    desk.writer.append(frame(2, 4_000))
    with pytest.raises(Overloaded, match="wait for room"):
        desk.writer.append(frame(3))


async def test_who_fills_a_log_looks_how_full_it_is(desk: Desk) -> None:
    desk.gauge.stored = 18_000
    desk.writer.append(frame(0))
    assert (await desk.asked())[:2] == [b"HMGET", RECORD]
    desk.servers.answer([b"i", b"3", desk.token, b"17000", None])
    assert desk.gauge.size_bytes < 2_000
    desk.writer.append(frame(1))
    await asyncio.sleep(0)
    assert len(desk.servers.asked) == 1, "once in a while is enough"


async def test_who_waits_for_room_says_so_and_looks_by_himself(desk: Desk) -> None:
    desk.gauge.stored = 12_000
    waiting = asyncio.create_task(desk.writer.room())
    assert await desk.asked() == [b"HMGET", RECORD, b"g", b"uf", b"uk", b"ux", b"ur"]
    assert commands(desk.servers.asked[0])[0][0] == b"EVALSHA"
    desk.servers.answer(1, [b"i", b"3", desk.token, None, None])
    await desk.asked()
    desk.servers.answer(1, [b"i", b"3", desk.token, b"9000", None])
    await asyncio.wait_for(waiting, 5)
    assert desk.gauge.size_bytes == 3_000


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ([None, None, None, None, None], SessionExpired),
        ([b"j", b"3", b"k", None, None], SessionExpired),
        ([b"i", b"4", b"k", None, None], SessionReplaced),
    ],
)
async def test_who_looks_finds_out_that_the_log_is_not_his(
    desk: Desk, state: Reply, kind: type[Exception]
) -> None:
    desk.writer.look()
    desk.servers.answer(state)
    if desk.servers.asked:
        desk.servers.answer(1)
    with pytest.raises(kind):
        desk.writer.append(frame(0))


async def test_who_looks_and_sees_another_of_his_fence_takes_the_log_back(desk: Desk) -> None:
    desk.writer.look()
    desk.servers.answer([b"i", b"3", b"another", None, None])
    desk.writer.append(frame(0))
    await desk.take(last=5)
    assert last_and_seqs(await desk.asked()) == (6, [0])


async def test_an_append_after_the_end_of_the_bus_raises(desk: Desk) -> None:
    desk.outbox.close()
    with pytest.raises(BusUnavailable, match="closed"):
        desk.writer.append(frame(0))


async def test_who_is_told_to_look_before_it_has_the_log_looks_then() -> None:
    desk = Desk()
    desk.writer.open("aa/1")
    await desk.asked()
    desk.writer.look()  # a reader has come in between, and the reply is still on its way
    assert len(desk.servers.asked) == 1
    await desk.take()
    assert (await desk.asked())[0] == b"HMGET"
    desk.servers.answer([b"i", b"3", desk.token, None, b"bb/4"])
    _, channel, push = await desk.asked()
    assert (channel, decode_push(push)[1].looks) == (b"legato:p:{bb}", [4])
    desk.servers.take()
    desk.writer.open("aa/1")
    await desk.take()
    assert desk.servers.take() == [], "it has looked"


async def test_a_full_log_has_no_room_nor_one_of_which_nothing_is_known(desk: Desk) -> None:
    assert desk.writer.has_room
    assert not Desk().writer.has_room
    desk.writer.append(frame(0, 10_000))
    assert not desk.writer.has_room
