import asyncio

import pytest

from legato.bus.base import Direction
from legato.bus.memory.log import BATCH, ITEM_BYTES, Log, Tally, gone
from legato.bus.memory.writer import Writer
from legato.errors import Overloaded, ResumeGap
from legato.protocol.messages import Text
from tests.contract.buses import Reader, arrive, frame, stream

BOUND = 4 * (1000 + ITEM_BYTES)


def log(tally: Tally | None = None) -> Log:
    return Log(stream(), Direction.UP, BOUND, tally or Tally())


def deliveries(of: Log) -> Reader:
    reader = Reader()
    of.follow(reader.deliver, reader.closed, 0)
    return reader


async def test_its_size_follows_what_is_appended_and_trimmed() -> None:
    tally = Tally()
    one, other = log(tally), log(tally)
    one.append((*frame(0, 100), *frame(1, 50)))
    one.append((Text(text="a" * 1000),))
    other.append(frame(0, 10))
    assert one.size_bytes > 1150 + 3 * ITEM_BYTES
    assert tally.size_bytes == one.size_bytes + other.size_bytes
    one.trim(1)
    assert 1000 + ITEM_BYTES < one.size_bytes < 1100 + ITEM_BYTES
    one.trim(2)
    assert one.size_bytes == 0
    other.end(gone(stream()))
    assert tally.size_bytes == 0


async def test_entries_of_one_turn_cost_one_callback_of_the_loop() -> None:
    reader = deliveries(one := log())
    await arrive(lambda: True)
    for n in range(3):
        one.append(frame(n))
    await asyncio.sleep(0)
    assert [len(call) for call in reader.calls] == [3]


async def test_a_log_without_readers_schedules_nothing() -> None:
    one = log()
    one.append(frame(0))
    reader = deliveries(one)
    one.append(frame(1))
    await asyncio.sleep(0)
    assert [len(call) for call in reader.calls] == [2]


async def test_a_long_backlog_leaves_turns_to_others() -> None:
    one = Log(stream(), Direction.UP, 1 << 30, Tally())
    for n in range(2 * BATCH + 1):
        one.append(frame(n))
    reader = deliveries(one)
    await reader.has(2 * BATCH + 1)
    assert [len(call) for call in reader.calls] == [BATCH, BATCH, 1]


async def test_what_is_trimmed_before_its_turn_is_a_gap_not_a_hole() -> None:
    reader = deliveries(one := log())
    one.append(frame(0))
    one.append(frame(1))
    one.trim(1)
    reason = await reader.end()
    assert isinstance(reason, ResumeGap)
    assert (reason.missing, reader.entries) == ((1, 2), [])
    one.append(frame(2))
    await asyncio.sleep(0)
    assert (reader.entries, len(reader.reasons)) == ([], 1)


async def test_a_reader_closed_after_the_end_but_before_its_turn_is_not_told() -> None:
    one = log()
    reader = Reader()
    subscription = one.follow(reader.deliver, reader.closed, 0)
    one.append(frame(0))
    one.end(gone(stream()))
    subscription.close()
    await arrive(lambda: True)
    await asyncio.sleep(0)
    assert (reader.calls, reader.reasons) == ([], [])


async def test_a_reader_that_raises_gets_nothing_more_even_if_it_had_appended() -> None:
    one = log()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    calls = 0

    def deliver(_entries: object) -> None:
        nonlocal calls
        calls += 1
        one.append(frame(calls))
        raise RuntimeError("reader is broken")

    one.follow(deliver, None, 0)
    one.append(frame(0))
    for _ in range(4):
        await asyncio.sleep(0)
    assert calls == 1


async def test_an_append_beyond_twice_the_bound_says_what_to_do() -> None:
    one = log()
    for n in range(8):
        one.append(frame(n, 1000))
    with pytest.raises(Overloaded, match="wait for room"):
        one.append(frame(8, 1000))
    assert one.last == 8


async def test_room_wakes_every_writer_that_waits() -> None:
    one = log()
    writers = [Writer(one, 0) for _ in range(3)]
    for n in range(4):
        writers[0].append(frame(n, 1000))
    waiting = [asyncio.create_task(writer.room()) for writer in writers]
    await asyncio.sleep(0)
    waiting[1].cancel()
    one.trim(1)
    await asyncio.wait(waiting, timeout=5)
    assert [task.done() and not task.cancelled() for task in waiting] == [True, False, True]


async def test_room_that_is_used_up_again_is_waited_for_again() -> None:
    one = log()
    writer = Writer(one, 0)
    for n in range(4):
        writer.append(frame(n, 1000))
    waiting = asyncio.create_task(writer.room())
    await asyncio.sleep(0)
    one.trim(1)
    writer.append(frame(4, 1000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    one.trim(2)
    await asyncio.wait_for(waiting, 5)


async def test_the_same_fence_again_wakes_nobody() -> None:
    one = log()
    writer = Writer(one, 1)
    for n in range(4):
        writer.append(frame(n, 1000))
    waiting = asyncio.create_task(writer.room())
    await asyncio.sleep(0)
    Writer(one, 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    one.trim(4)
    await waiting


async def test_trimming_tells_whether_there_was_anything() -> None:
    one = log()
    one.append(frame(0))
    assert [one.trim(0), one.trim(5), one.trim(5)] == [False, True, False]
