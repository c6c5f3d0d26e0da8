import asyncio

from legato.bus.base import Direction, Entry
from legato.errors import ResumeGap, SessionExpired
from tests.contract.buses import Reader, Rig, arrive, filled, frame, settled, stream

UP, DOWN = Direction.UP, Direction.DOWN
KEY = stream()


async def test_a_reader_gets_the_old_entries_and_then_the_new_ones(rig: Rig) -> None:
    writer = await filled(rig, KEY, 3)
    reader = Reader().follow(rig.peer, KEY, UP)
    assert reader.entries == [], "delivered within the call"
    await reader.has(3)
    await settled(writer, frame(3), frame(4))
    assert await reader.has(5) == [1, 2, 3, 4, 5]
    assert reader.entries[4] == Entry(5, frame(4))


async def test_a_reader_gets_what_is_appended_while_it_catches_up(rig: Rig) -> None:
    writer = await filled(rig, KEY, 3)
    reader = Reader().follow(rig.peer, KEY, UP)
    writer.append(frame(3))
    assert await reader.has(4) == [1, 2, 3, 4]


async def test_a_long_backlog_arrives_in_order(rig: Rig) -> None:
    await filled(rig, KEY, 600)
    reader = Reader().follow(rig.peer, KEY, UP)
    assert await reader.has(600) == list(range(1, 601))
    assert max(len(call) for call in reader.calls) <= 256


async def test_a_reader_gets_nothing_up_to_after(rig: Rig) -> None:
    writer = await filled(rig, KEY, 3)
    near = Reader().follow(rig.peer, KEY, UP, after=2)
    far = Reader().follow(rig.peer, KEY, UP, after=4)
    await settled(writer, frame(3), frame(4))
    assert await near.has(3) == [3, 4, 5]
    assert await far.has(1) == [5]


async def test_entries_of_one_turn_come_in_one_call(rig: Rig) -> None:
    writer = await filled(rig, KEY, 0)
    reader = Reader().follow(rig.peer, KEY, UP)
    await rig.quiet()
    for n in range(5):
        writer.append(frame(n))
    await reader.has(5)
    assert len(reader.calls) == 1


async def test_directions_are_followed_apart(rig: Rig) -> None:
    up = await filled(rig, KEY, 0)
    down = rig.bus.logs.writer(KEY, DOWN)
    reader = Reader().follow(rig.peer, KEY, DOWN)
    await settled(up, frame(0))
    await settled(down, frame(1))
    assert await reader.has(1) == [1]
    assert reader.entries[0].items == frame(1)


async def test_a_closed_subscription_is_told_nothing_more(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    reader = Reader()
    subscription = rig.peer.logs.follow(KEY, UP, reader.deliver, closed=reader.closed)
    await reader.has(1)
    writer.append(frame(1))
    subscription.close()
    subscription.close()
    await writer.settle()
    await rig.bus.logs.delete(KEY)
    await rig.quiet()
    assert (reader.numbers, reader.reasons) == ([1], [])


async def test_readers_can_close_each_other_while_entries_come(rig: Rig) -> None:
    await filled(rig, KEY, 1)
    subscriptions = [rig.peer.logs.follow(KEY, UP, lambda _entries: close_all()) for _ in range(3)]
    calls = 0

    def close_all() -> None:
        nonlocal calls
        calls += 1
        for subscription in subscriptions:
            subscription.close()

    await arrive(lambda: calls > 0)
    await rig.quiet()
    assert calls == 1


async def test_a_reader_may_write_while_entries_come(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    numbers: list[int] = []

    def deliver(entries: list[Entry]) -> None:
        numbers.extend(entry.number for entry in entries)
        if numbers[-1] < 4:
            writer.append(frame(numbers[-1]))

    rig.bus.logs.follow(KEY, UP, lambda entries: deliver(list(entries)))
    await arrive(lambda: len(numbers) >= 4)
    assert numbers == [1, 2, 3, 4]


async def test_a_reader_that_raises_is_closed_and_reported_and_the_others_go_on(rig: Rig) -> None:
    writer = await filled(rig, KEY, 1)
    reported: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: reported.append(context["exception"])
    )
    broken, before, after = Reader(), Reader(), Reader()

    def fail(_entries: object) -> None:
        raise RuntimeError("reader is broken")

    before.follow(rig.peer, KEY, UP)
    rig.peer.logs.follow(KEY, UP, fail, closed=broken.closed)
    after.follow(rig.peer, KEY, UP)
    assert (await broken.end()).code == "internal"
    await settled(writer, frame(1))
    assert await before.has(2) == await after.has(2) == [1, 2]
    assert [str(error) for error in reported] == ["reader is broken"]
    assert len(broken.reasons) == 1


async def test_a_reader_is_told_when_the_stream_is_deleted(rig: Rig) -> None:
    await filled(rig, KEY, 1)
    up, down = Reader().follow(rig.peer, KEY, UP), Reader().follow(rig.peer, KEY, DOWN)
    await up.has(1)
    await rig.bus.logs.delete(KEY)
    assert isinstance(await up.end(), SessionExpired)
    assert isinstance(await down.end(), SessionExpired)


async def test_a_reader_is_told_when_the_stream_expires(rig: Rig) -> None:
    await filled(rig, KEY, 0)
    reader = Reader().follow(rig.peer, KEY, UP)
    await rig.bus.logs.touch(KEY, ttl=rig.tick)
    await rig.advance(2 * rig.tick)
    assert isinstance(await reader.end(), SessionExpired)


async def test_a_reader_of_a_stream_that_never_was_is_told(rig: Rig) -> None:
    reader = Reader().follow(rig.peer, KEY, UP)
    assert reader.reasons == [], "told within the call"
    assert isinstance(await reader.end(), SessionExpired)


async def test_a_reader_whose_entries_were_trimmed_is_told_which(rig: Rig) -> None:
    await filled(rig, KEY, 5)
    await rig.bus.logs.trim(KEY, UP, upto=3)
    reader = Reader().follow(rig.peer, KEY, UP, after=1)
    reason = await reader.end()
    assert isinstance(reason, ResumeGap)
    assert (reason.missing, reader.entries) == ((2, 4), [])


async def test_trimming_what_a_reader_has_does_not_disturb_it(rig: Rig) -> None:
    writer = await filled(rig, KEY, 3)
    reader = Reader().follow(rig.peer, KEY, UP)
    await reader.has(3)
    await rig.bus.logs.trim(KEY, UP, upto=3)
    await settled(writer, frame(3))
    assert await reader.has(4) == [1, 2, 3, 4]
