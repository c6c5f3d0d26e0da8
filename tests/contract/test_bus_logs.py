import asyncio

import pytest

from legato.bus.base import Committed, Direction, Entry, Item, LogWriter, Restart
from legato.errors import (
    Overloaded,
    ResumeGap,
    SessionExpired,
    SessionReplaced,
    StreamExists,
)
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Error,
    Finalize,
    Flush,
    Notice,
    StreamEnd,
    SwitchDown,
    SwitchUp,
    Text,
    Transcript,
    UtteranceEnd,
    WordTimes,
)
from tests.contract.buses import Rig, filled, frame, refuse, settled, stream

UP, DOWN = Direction.UP, Direction.DOWN
KEY = stream()

UP_ITEMS: tuple[Item, ...] = (
    AudioFrame(b"\x00\xff" * 320, 7, last=True, sample=2**40, epoch=3, utterance=9),
    Text(seq=1, text="Größe 你好 \U0001f600 \x00"),
    Flush(seq=2),
    Finalize(seq=3, sample=16_000),
    Cancel(seq=4, utterance=1, played_upto=800),
    StreamEnd(seq=5, frames=6, samples=1920, digest="ab" * 32),
)
DOWN_ITEMS: tuple[Item, ...] = (
    Transcript(
        seq=0,
        kind="final",
        text="hello",
        start=10,
        end=20,
        words=[WordTimes(text="hello", start=0.1, end=0.5, confidence=0.9)],
        confidence=0.8,
    ),
    UtteranceEnd(seq=1, utterance=0, reason="failed", code="engine_failed", message="It died."),
    SwitchDown(seq=2, rung="opus-16", sample=320),
    SwitchUp(seq=3, rung="opus-24", sample=640),
    Error(code="engine_failed", message="It died."),
    Notice(kind="queued", position=3, retry_after=1.5),
    Committed(12, upto=3_840, chars=5),
    Committed(12, restart=Restart(9, utterance=2, chars=40, samples=1_600)),
)


async def test_a_stream_is_there_once_it_is_made(rig: Rig) -> None:
    assert not await rig.bus.logs.exists(KEY)
    await rig.bus.logs.create(KEY, ttl=rig.long)
    assert await rig.peer.logs.exists(KEY)


async def test_a_stream_is_made_only_once(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    with pytest.raises(StreamExists):
        await rig.peer.logs.create(KEY, ttl=rig.long)


async def test_tenants_do_not_meet(rig: Rig) -> None:
    mine, theirs = stream(tenant="a"), stream(tenant="b")
    await filled(rig, mine, 2)
    await filled(rig, theirs, 1)
    assert len(await rig.bus.logs.read(mine, UP)) == 2
    await rig.bus.logs.delete(mine)
    assert len(await rig.bus.logs.read(theirs, UP)) == 1


async def test_each_direction_numbers_its_entries_from_one(rig: Rig) -> None:
    await filled(rig, KEY, 3)
    await settled(rig.bus.logs.writer(KEY, DOWN), frame(9))
    assert [entry.number for entry in await rig.peer.logs.read(KEY, UP)] == [1, 2, 3]
    assert await rig.peer.logs.read(KEY, DOWN) == [Entry(1, frame(9))]


async def test_an_entry_keeps_its_items_in_order(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    items = (*frame(0), Text(seq=1, text="a"), *frame(2))
    await settled(rig.bus.logs.writer(KEY, UP), items)
    assert await rig.peer.logs.read(KEY, UP) == [Entry(1, items)]


@pytest.mark.parametrize(
    ("direction", "item"),
    [(UP, item) for item in UP_ITEMS] + [(DOWN, item) for item in DOWN_ITEMS],
    ids=lambda value: type(value).__name__ if not isinstance(value, Direction) else str(value),
)
async def test_every_kind_of_item_comes_out_as_it_went_in(
    rig: Rig, direction: Direction, item: Item
) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await settled(rig.bus.logs.writer(KEY, direction), (item,))
    (entry,) = await rig.peer.logs.read(KEY, direction)
    assert entry.items == (item,)


async def test_an_entry_without_items_is_refused(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    with pytest.raises(ValueError, match="at least one item"):
        rig.bus.logs.writer(KEY, UP).append(())


async def test_stored_is_the_number_of_the_writers_last_entry(rig: Rig) -> None:
    first = await filled(rig, KEY, 2)
    second = rig.bus.logs.writer(KEY, UP)
    assert second.stored == 0
    await settled(second, frame(2))
    assert (first.stored, second.stored) == (2, 3)


async def test_reading_starts_above_after_and_stops_at_the_limit(rig: Rig) -> None:
    await filled(rig, KEY, 5)
    entries = await rig.peer.logs.read(KEY, UP, after=1, limit=2)
    assert [entry.number for entry in entries] == [2, 3]
    assert await rig.peer.logs.read(KEY, UP, after=5) == []


async def test_reading_a_stream_that_is_not_there_raises(rig: Rig) -> None:
    with pytest.raises(SessionExpired):
        await rig.bus.logs.read(KEY, UP)


async def test_reading_what_was_trimmed_raises_with_the_missing_range(rig: Rig) -> None:
    await filled(rig, KEY, 5)
    await rig.bus.logs.trim(KEY, UP, upto=3)
    with pytest.raises(ResumeGap) as caught:
        await rig.peer.logs.read(KEY, UP, after=1)
    assert caught.value.missing == (2, 4)
    assert [entry.number for entry in await rig.peer.logs.read(KEY, UP, after=3)] == [4, 5]


async def test_numbering_goes_on_after_everything_was_trimmed(rig: Rig) -> None:
    writer = await filled(rig, KEY, 3)
    await rig.bus.logs.trim(KEY, UP, upto=99)
    assert await rig.bus.logs.read(KEY, UP, after=3) == []
    await settled(writer, frame(3))
    assert [entry.number for entry in await rig.bus.logs.read(KEY, UP, after=3)] == [4]


async def test_trimming_what_is_not_there_does_nothing(rig: Rig) -> None:
    await rig.bus.logs.trim(KEY, UP, upto=3)
    await filled(rig, KEY, 3)
    await rig.bus.logs.trim(KEY, UP, upto=2)
    await rig.bus.logs.trim(KEY, UP, upto=1)
    await rig.bus.logs.trim(KEY, DOWN, upto=1)
    assert [entry.number for entry in await rig.bus.logs.read(KEY, UP, after=2)] == [3]


async def test_a_higher_fence_shuts_out_a_lower_one_for_ever(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    old = await settled(rig.bus.logs.writer(KEY, DOWN, fence=1), frame(0))
    new = await settled(rig.peer.logs.writer(KEY, DOWN, fence=2))
    await refuse(old, SessionReplaced)
    await refuse(rig.bus.logs.writer(KEY, DOWN, fence=1), SessionReplaced)
    await settled(new, frame(1))
    await refuse(old, SessionReplaced)
    assert len(await rig.bus.logs.read(KEY, DOWN)) == 2


async def test_settling_a_writer_that_was_shut_out_before_it_wrote_raises(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await settled(rig.peer.logs.writer(KEY, DOWN, fence=2))
    with pytest.raises(SessionReplaced):
        await rig.bus.logs.writer(KEY, DOWN, fence=1).settle()


async def test_writers_of_one_fence_share_a_log(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    one = await settled(rig.bus.logs.writer(KEY, UP, fence=3), frame(0))
    other = await settled(rig.peer.logs.writer(KEY, UP, fence=3), frame(1))
    await settled(one, frame(2))
    assert (one.stored, other.stored) == (3, 2)


async def test_a_fence_holds_for_one_log_only(rig: Rig) -> None:
    other = stream("s2")
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await rig.bus.logs.create(other, ttl=rig.long)
    await settled(rig.bus.logs.writer(KEY, UP, fence=9), frame(0))
    await settled(rig.bus.logs.writer(KEY, DOWN, fence=1), frame(0))
    await settled(rig.bus.logs.writer(other, UP, fence=1), frame(0))


async def test_deleting_erases_both_logs_and_counts(rig: Rig) -> None:
    await filled(rig, KEY, 3)
    await settled(rig.bus.logs.writer(KEY, DOWN), frame(0))
    assert await rig.bus.logs.delete(KEY) == 4
    assert not await rig.peer.logs.exists(KEY)
    assert await rig.bus.logs.delete(KEY) == 0


async def test_a_late_writer_of_a_deleted_stream_is_refused(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    await rig.peer.logs.delete(KEY)
    await refuse(writer, SessionExpired)
    await refuse(rig.bus.logs.writer(KEY, UP, fence=9), SessionExpired)
    assert not await rig.bus.logs.exists(KEY)


async def test_a_deleted_stream_cannot_be_made_again_while_its_tombstone_stands(rig: Rig) -> None:
    await filled(rig, KEY, 1)
    await rig.bus.logs.delete(KEY)
    await rig.advance(rig.tombstone / 2)
    with pytest.raises(StreamExists):
        await rig.peer.logs.create(KEY, ttl=rig.long)
    await rig.advance(rig.tombstone)
    await rig.peer.logs.create(KEY, ttl=rig.long)
    assert await rig.bus.logs.read(KEY, UP) == []


async def test_deleting_a_stream_that_never_was_leaves_no_tombstone(rig: Rig) -> None:
    assert await rig.bus.logs.delete(KEY) == 0
    await rig.bus.logs.create(KEY, ttl=rig.long)


async def test_a_stream_expires_unless_it_is_touched(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=2 * rig.tick)
    assert await rig.bus.logs.touch(KEY, ttl=rig.long)
    await rig.advance(3 * rig.tick)
    assert await rig.bus.logs.exists(KEY)
    await rig.bus.logs.touch(KEY, ttl=rig.tick)
    await rig.advance(2 * rig.tick)
    assert not await rig.bus.logs.exists(KEY)
    assert not await rig.bus.logs.touch(KEY, ttl=rig.long)


async def test_a_late_writer_never_writes_to_a_later_stream_of_the_same_key(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    await rig.bus.logs.touch(KEY, ttl=rig.tick)
    await rig.advance(2 * rig.tick)
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await refuse(writer, SessionExpired)
    assert await rig.bus.logs.read(KEY, UP) == []


async def fill(rig: Rig, writer: LogWriter) -> int:
    """Append until the log is full; return the number of its last entry."""
    count = rig.log_bytes // 4096 + 1
    return (await settled(writer, *(frame(n, 4096) for n in range(count)))).stored


async def test_there_is_room_in_an_empty_log(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    await asyncio.wait_for(writer.room(), 5)


async def test_a_full_log_has_room_again_when_its_reader_is_done(rig: Rig) -> None:
    writer = await filled(rig, KEY, 0)
    last = await fill(rig, writer)
    waiting = asyncio.create_task(writer.room())
    await rig.quiet()
    assert not waiting.done()
    await rig.peer.logs.trim(KEY, UP, upto=last)
    await asyncio.wait_for(waiting, 5)


async def test_a_writer_that_does_not_wait_for_room_is_stopped_at_twice_the_bound(
    rig: Rig,
) -> None:
    writer = await filled(rig, KEY, 0)
    last = await fill(rig, writer)
    with pytest.raises(Overloaded):
        await settled(writer, *(frame(n, 4096) for n in range(2 * last)))
    await writer.settle()
    assert 1.5 * last < writer.stored < 2.5 * last
    await rig.bus.logs.trim(KEY, UP, upto=last)
    await settled(writer, frame(0))


async def test_waiting_for_room_ends_when_another_takes_over(rig: Rig) -> None:
    writer = await filled(rig, KEY, 0)
    await fill(rig, writer)
    waiting = asyncio.create_task(writer.room())
    await rig.quiet()
    await settled(rig.peer.logs.writer(KEY, UP, fence=1))
    with pytest.raises(SessionReplaced):
        await asyncio.wait_for(waiting, 5)


async def test_waiting_for_room_ends_when_the_stream_is_deleted(rig: Rig) -> None:
    writer = await filled(rig, KEY, 0)
    await fill(rig, writer)
    waiting = asyncio.create_task(writer.room())
    await rig.quiet()
    await rig.peer.logs.delete(KEY)
    with pytest.raises(SessionExpired):
        await asyncio.wait_for(waiting, 5)
