import asyncio
from collections.abc import Callable

import pytest

from legato.bus.base import Direction, Logs, LogWriter, StreamKey
from legato.bus.memory import MemoryBus
from legato.errors import EngineFailed, SessionExpired
from legato.protocol.messages import Cancel, Text
from legato.worker.inbox import Inbox

KEY = StreamKey("default", "s")


class Feeding:
    """A stream and an inbox on it."""

    def __init__(self, logs: Logs, writer: LogWriter) -> None:
        self.logs = logs
        self.writer = writer
        self.now = 0.0

    @classmethod
    async def begin(cls) -> "Feeding":
        bus = MemoryBus()
        await bus.logs.create(KEY, ttl=60)
        return cls(bus.logs, bus.logs.writer(KEY, Direction.UP))

    def texts(self, *seqs: int) -> None:
        for seq in seqs:
            self.writer.append([Text(seq=seq, text=str(seq))])

    def inbox(
        self, *, first_seq: int = 0, bound: int = 100, cancelled: Callable[[], None] = lambda: None
    ) -> Inbox:
        return Inbox(
            self.logs,
            KEY,
            first_seq=first_seq,
            bound=bound,
            interrupted=cancelled,
            clock=lambda: self.now,
        )


async def seqs(inbox: Inbox, count: int) -> list[object]:
    async with asyncio.timeout(10):
        return [getattr((await inbox.next())[0], "seq", None) for _ in range(count)]


async def test_items_come_in_order_with_the_time_they_came() -> None:
    feeding = await Feeding.begin()
    inbox = feeding.inbox()
    feeding.now = 5.0
    feeding.texts(0, 1)
    assert [await inbox.next(), await inbox.next()] == [
        (Text(seq=0, text="0"), 5.0),
        (Text(seq=1, text="1"), 5.0),
    ]


async def test_what_is_done_with_does_not_come_again() -> None:
    feeding = await Feeding.begin()
    feeding.texts(0, 1, 2, 3)
    assert await seqs(feeding.inbox(first_seq=2), 2) == [2, 3]


async def test_a_trimmed_log_is_followed_from_what_is_kept() -> None:
    feeding = await Feeding.begin()
    feeding.texts(0, 1, 2, 3)
    await feeding.logs.trim(KEY, Direction.UP, upto=2)
    assert await seqs(feeding.inbox(first_seq=2), 2) == [2, 3]


async def test_a_full_inbox_leaves_the_rest_in_the_log() -> None:
    feeding = await Feeding.begin()
    inbox = feeding.inbox(bound=10)
    feeding.texts(*range(8))
    assert await seqs(inbox, 1) == [0]
    feeding.texts(*range(8, 40))
    assert await seqs(inbox, 39) == list(range(1, 40))


async def test_a_cancel_is_seen_before_its_turn() -> None:
    feeding = await Feeding.begin()
    heard = asyncio.Event()
    inbox = feeding.inbox(cancelled=heard.set)
    feeding.texts(0)
    feeding.writer.append([Cancel(seq=1, utterance=3)])
    await asyncio.wait_for(heard.wait(), 10)
    assert [inbox.cancels(utterance) for utterance in (2, 3, 4)] == [True, True, False]
    assert await seqs(inbox, 1) == [0]
    assert inbox.cancels(3)
    assert await seqs(inbox, 1) == [1]
    assert not inbox.cancels(3)


async def test_a_log_that_goes_away_is_told() -> None:
    feeding = await Feeding.begin()
    inbox = feeding.inbox()
    await feeding.logs.delete(KEY)
    with pytest.raises(SessionExpired):
        await asyncio.wait_for(inbox.next(), 10)


async def test_a_failure_wakes_who_waits_and_stays() -> None:
    feeding = await Feeding.begin()
    inbox = feeding.inbox()
    inbox.check()
    waiting = asyncio.create_task(inbox.next())
    await asyncio.sleep(0)
    inbox.fail(EngineFailed("first"))
    inbox.fail(EngineFailed("second"))
    with pytest.raises(EngineFailed, match="first"):
        await waiting
    with pytest.raises(EngineFailed, match="first"):
        inbox.check()


async def test_nothing_comes_after_close() -> None:
    feeding = await Feeding.begin()
    inbox = feeding.inbox()
    inbox.close()
    feeding.texts(0)
    waiting = asyncio.create_task(inbox.next())
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
