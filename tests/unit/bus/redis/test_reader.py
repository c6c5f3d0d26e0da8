"""A reader against servers that answer what the test says; the real ones are in the contract."""

from __future__ import annotations

import asyncio

import pytest

from legato.bus.base import Direction
from legato.bus.redis.encoding import decode_push
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.reader import BATCH, EARLY, RACES, Follower
from legato.errors import BusUnavailable, EpochChanged, Internal, ResumeGap, SessionExpired
from tests.contract.buses import Reader, arrive, frame, stream
from tests.unit.bus.redis.fakes import FakeServers, commands
from tests.unit.bus.redis.test_view import batch


class Desk:
    """A reader and the servers that it talks to."""

    def __init__(self, after: int = 0) -> None:
        self.servers = FakeServers()
        self.reader = Reader()
        self.ended: list[Follower] = []
        keys = Keys("legato")
        self.follower = Follower(
            stream(),
            Direction.UP,
            deliver=self.reader.deliver,
            closed=self.reader.closed,
            after=after,
            keys=keys.stream(stream()),
            servers=self.servers,
            pushes=Pushes(self.servers, keys),
            ended=self.ended.append,
            pause=0.001,
        )
        self.follower.handle = 7

    def live(self) -> Desk:
        """Attach to a log with nothing in it yet."""
        self.follower.attach("aa")
        self.show()
        self.show()
        return self

    def show(
        self,
        *batches: Reply,
        trimmed: int = 0,
        incarnation: bytes | None = b"i",
        token: bytes | None = b"k",
    ) -> None:
        """Answer a look at the log."""
        self.servers.answer([incarnation, token, b"%d" % trimmed], list(batches))

    def push(self, *numbers: int, token: str = "k") -> None:
        self.follower.pushed(numbers[0], token, [frame(n) for n in numbers])

    async def insist(self, *batches: Reply) -> None:
        """Answer all looks alike, until there are no more."""
        for _ in range(RACES + 1):
            await arrive(lambda: bool(self.servers.asked))
            self.show(*batches)

    def start(self) -> bytes:
        """Where the oldest look begins."""
        return commands(self.servers.asked[0])[-1][2]


async def test_a_reader_is_listed_before_it_reads() -> None:
    desk = Desk(after=4)
    desk.follower.attach("aa")
    attach, state, entries = commands(desk.servers.asked[0])
    assert attach[2:] == [b"1", b"legato:{default/s1}:r", b"u", b"", b"aa/7"]
    assert state[0] == b"HMGET"
    assert entries[:3] == [b"XRANGE", b"legato:{default/s1}:u:", b"5-0"]


async def test_a_reader_reads_again_when_it_has_learnt_where_the_log_is() -> None:
    desk = Desk()
    desk.follower.attach("aa")
    desk.show(token=b"k")
    _, entries = commands(desk.servers.asked[0])
    assert entries[1] == b"legato:{default/s1}:u:k"
    desk.show(batch(1), batch(2, 3))
    assert desk.reader.numbers == [1, 2, 3]
    assert desk.servers.asked == []


async def test_a_log_that_nobody_has_written_to_is_not_read_again() -> None:
    desk = Desk()
    desk.follower.attach("aa")
    desk.show(token=None)
    assert desk.servers.asked == []


async def test_writers_are_told_of_a_new_reader() -> None:
    desk = Desk()
    desk.follower.attach("aa")
    desk.servers.answer(b"bb/3", [b"i", None, None], [])
    await asyncio.sleep(0)
    ((command,),) = desk.servers.take()
    assert command[:2] == [b"PUBLISH", b"legato:p:{bb}"]
    assert decode_push(command[2])[1].looks == [3]
    # Some may have gone after their last entry, and tell nobody of it.
    await arrive(lambda: bool(desk.servers.asked))
    desk.show(batch(1))


async def test_pushes_that_follow_on_are_delivered_without_reading() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.push(3)
    assert desk.reader.numbers == [1, 2, 3]
    assert desk.servers.asked == []


async def test_what_was_delivered_is_not_delivered_again() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.push(1, 2)
    desk.push(2, 3)
    assert desk.reader.numbers == [1, 2, 3]


async def test_a_push_behind_a_gap_makes_the_reader_read() -> None:
    desk = Desk().live()
    desk.push(3)
    assert desk.reader.numbers == []
    desk.show(batch(1), batch(2), batch(3))
    assert desk.reader.numbers == [1, 2, 3]


async def test_pushes_that_come_while_reading_are_delivered_after_it() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.push(2, 3)
    desk.push(4)
    assert desk.reader.numbers == []
    desk.show(batch(1), batch(2))
    assert desk.reader.numbers == [1, 2, 3, 4]
    assert desk.servers.asked == []


async def test_more_pushes_than_are_kept_are_read_from_the_log() -> None:
    desk = Desk().live()
    desk.follower.look()
    for n in range(EARLY + 1):
        desk.push(n + 1)
    desk.show()
    desk.show(*(batch(n) for n in range(1, EARLY + 2)))
    assert desk.reader.numbers == list(range(1, EARLY + 2))


async def test_a_push_of_many_entries_is_read_in_parts() -> None:
    desk = Desk().live()
    many = range(1, BATCH + 3)
    desk.push(*many)
    desk.show(batch(*many))
    assert desk.start() == b"%d-0" % BATCH
    desk.show(batch(*many))
    assert [len(call) for call in desk.reader.calls] == [BATCH, 2]


async def test_a_backlog_is_read_until_its_end() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.show(*(batch(n) for n in range(1, BATCH + 1)))
    desk.show(batch(BATCH), batch(BATCH + 1))
    assert desk.reader.numbers == list(range(1, BATCH + 2))
    assert desk.servers.asked == []


async def test_a_look_that_is_asked_for_while_reading_follows_it() -> None:
    desk = Desk().live()
    for _ in range(3):
        desk.follower.look()
    desk.show()
    assert len(desk.servers.asked) == 1
    desk.show()
    assert desk.servers.asked == []


async def test_entries_that_were_trimmed_before_they_came_are_told() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.show(trimmed=3)
    await asyncio.sleep(0)
    (reason,) = desk.reader.reasons
    assert isinstance(reason, ResumeGap)
    assert reason.missing == (1, 4)


async def test_a_look_begins_with_the_last_entry_delivered() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.follower.look()
    assert desk.start() == b"2-0"
    desk.show(batch(1, 2, 3))
    assert desk.reader.numbers == [1, 2, 3]


async def test_a_log_under_another_token_is_checked_before_it_is_read_on() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.push(3, token="l")
    assert desk.reader.numbers == [1, 2]
    desk.show(token=b"l")
    assert commands(desk.servers.asked[0])[-1][1] == b"legato:{default/s1}:u:l"
    desk.show(batch(2), batch(3), token=b"l")
    desk.push(4, token="l")
    assert desk.reader.numbers == [1, 2, 3, 4]


@pytest.mark.parametrize("found", [(), (batch(1),), (batch(3),)], ids=["gone", "before", "behind"])
async def test_a_log_that_has_lost_what_was_delivered_says_so(found: tuple[Reply, ...]) -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.follower.look()
    await desk.insist(*found)
    assert isinstance(await desk.reader.end(), EpochChanged)
    assert desk.servers.asked == []


async def test_a_log_that_has_something_else_where_it_had_delivered_says_so() -> None:
    desk = Desk().live()
    desk.push(1)
    desk.follower.pushed(2, "k", [frame(99)])
    desk.follower.look()
    await desk.insist(batch(2), batch(3))
    assert isinstance(await desk.reader.end(), EpochChanged)
    assert desk.reader.numbers == [1, 2]


async def test_what_was_on_its_way_to_another_node_is_not_lost() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.follower.look()
    for _ in range(RACES - 1):
        await arrive(lambda: bool(desk.servers.asked))
        desk.show()
    desk.push(3, 4)
    await arrive(lambda: bool(desk.servers.asked))
    desk.show(batch(2), batch(3))
    assert desk.reader.numbers == [1, 2, 3, 4]
    assert desk.servers.asked == []


async def test_what_is_trimmed_between_the_commands_is_not_lost() -> None:
    desk = Desk().live()
    desk.push(1, 2)
    desk.follower.look()
    desk.show()
    desk.show(batch(3), trimmed=2)
    assert desk.reader.numbers == [1, 2, 3]
    assert desk.servers.asked == []


async def test_a_reader_that_begins_behind_the_end_waits_for_it() -> None:
    desk = Desk(after=5).live()
    desk.push(4, 5)
    desk.push(6)
    assert desk.reader.numbers == [6]


async def test_a_later_stream_of_the_same_name_is_not_read() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.show(batch(1), incarnation=b"j")
    assert commands(desk.servers.asked[0])[0][0] == b"EXISTS"
    desk.servers.answer(1)
    await asyncio.sleep(0)
    assert isinstance(desk.reader.reasons[0], SessionExpired)
    assert desk.reader.numbers == []


async def test_a_stream_that_is_gone_without_a_trace_was_lost() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.show(incarnation=None, token=None)
    desk.push(1)
    desk.follower.look()
    desk.servers.answer(0)
    assert isinstance(await desk.reader.end(), EpochChanged)
    assert desk.reader.numbers == []
    assert desk.servers.asked == []


async def test_a_stream_that_never_was_is_not_lost() -> None:
    desk = Desk()
    desk.follower.attach("aa")
    desk.servers.answer(None, [None, None, None], [])
    assert isinstance(await desk.reader.end(), SessionExpired)
    assert desk.servers.asked == []


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        ([BusUnavailable("away")], BusUnavailable),
        ([ReplyError("NOPERM no"), []], BusUnavailable),
        ([ReplyError("WRONGTYPE no"), []], Internal),
        ([[b"i", b"k", b"0"], [[b"1-0", [b"b", b"0 1", b"e", b"\xc1"]]]], Internal),
    ],
)
async def test_what_goes_wrong_ends_the_reader(replies: list[Reply], kind: type) -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.servers.answer(*replies)
    desk.push(1)
    assert desk.reader.reasons == [], "told within the call"
    await asyncio.sleep(0)
    assert [type(reason) for reason in desk.reader.reasons] == [kind]
    assert desk.reader.numbers == []
    assert desk.ended == [desk.follower]


async def test_a_closed_reader_takes_nothing_and_is_told_nothing() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.follower.end(BusUnavailable("away"))
    desk.follower.close()
    desk.follower.close()
    desk.show(batch(1))
    desk.push(1)
    desk.follower.look()
    desk.follower.attach("bb")
    await asyncio.sleep(0)
    assert (desk.reader.numbers, desk.reader.reasons) == ([], [])
    assert desk.ended == [desk.follower]
    assert desk.servers.asked == []


async def test_a_reader_that_moves_while_it_reads_delivers_everything_once() -> None:
    desk = Desk().live()
    desk.follower.look()
    desk.follower.attach("bb")
    desk.show(batch(1), batch(2))
    desk.show(batch(1), batch(2), batch(3))
    assert desk.reader.numbers == [1, 2, 3]
