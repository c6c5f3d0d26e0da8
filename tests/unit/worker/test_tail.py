import asyncio
from collections.abc import Sequence

from legato.bus.base import Direction, Entry, StreamKey
from legato.bus.memory import MemoryBus
from legato.errors import LegatoError, ResumeGap, SessionExpired
from legato.protocol.messages import Text
from legato.worker.tail import Tail

KEY = StreamKey("default", "s")


class Following:
    """A tail and what came of it."""

    def __init__(self) -> None:
        self.seq = 0
        self.bus = MemoryBus()
        self.numbers: list[int] = []
        self.reasons: list[LegatoError] = []

    async def begin(self, *, entries: int = 0, trimmed: int = 0, first_seq: int = 0) -> Tail:
        await self.bus.logs.create(KEY, ttl=60)
        self.append(entries)
        await self.bus.logs.trim(KEY, Direction.UP, upto=trimmed)
        return Tail(
            self.bus.logs,
            KEY,
            first_seq=first_seq,
            deliver=self.deliver,
            failed=self.reasons.append,
        )

    def append(self, entries: int) -> None:
        writer = self.bus.logs.writer(KEY, Direction.UP)
        for _ in range(entries):
            writer.append([Text(seq=self.seq, text="a")])
            self.seq += 1

    def deliver(self, entries: Sequence[Entry]) -> None:
        self.numbers += [entry.number for entry in entries]


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_was_trimmed_before_we_came_is_not_missed() -> None:
    following = Following()
    await following.begin(entries=5, trimmed=3, first_seq=3)
    await turns()
    assert (following.numbers, following.reasons) == ([4, 5], [])


async def test_what_is_trimmed_while_a_stream_is_taken_over_is_not_missed() -> None:
    following = Following()
    await following.begin(entries=300, first_seq=290)
    for upto in (1, 2, 3, 100, 258, 280, 290):
        await following.bus.logs.trim(KEY, Direction.UP, upto=upto)
        await asyncio.sleep(0)
    await turns()
    assert following.reasons == []
    assert following.numbers[-10:] == list(range(291, 301))


async def test_what_is_needed_and_trimmed_is_a_gap() -> None:
    following = Following()
    tail = await following.begin(entries=5, trimmed=3, first_seq=2)
    await turns()
    assert [type(reason) for reason in following.reasons] == [ResumeGap]
    assert (following.numbers, tail.is_open) == ([], False)


async def test_a_place_can_be_left_and_taken_up_again() -> None:
    following = Following()
    tail = await following.begin(entries=2)
    await turns()
    tail.close()
    tail.close()
    assert not tail.is_open
    following.append(2)
    await turns()
    assert following.numbers == [1, 2]
    tail.open()
    await turns()
    assert following.numbers == [1, 2, 3, 4]


async def test_what_is_trimmed_while_we_are_away_is_a_gap() -> None:
    following = Following()
    tail = await following.begin(entries=1)
    await turns()
    tail.close()
    following.append(3)
    await following.bus.logs.trim(KEY, Direction.UP, upto=2)
    tail.open()
    await turns()
    assert [type(reason) for reason in following.reasons] == [ResumeGap]


async def test_a_log_that_is_gone_is_told() -> None:
    following = Following()
    await following.begin(entries=1)
    await turns()
    await following.bus.logs.delete(KEY)
    await turns()
    assert [type(reason) for reason in following.reasons] == [SessionExpired]
