import asyncio

import pytest

from legato.bus.base import NOTE_BYTES, StreamKey
from legato.errors import BusUnavailable, MessageTooLarge, SessionExpired
from legato.gateway.catalog import Choice
from legato.gateway.custody import RACES, Custody
from legato.gateway.notes import StreamNote, stream_note
from legato.protocol.messages import StreamStart
from tests.unit.gateway.neighbours import SharedMemoryBus, View
from tests.unit.gateway.stage import echo

KEY = StreamKey("default", "s")


class Scene:
    """Two gateways' custody, and a stream that began at the first."""

    async def open(self) -> "Scene":
        self.bus = SharedMemoryBus(clock=asyncio.get_running_loop().time)
        self.view = View(self.bus)
        self.here, self.there = Custody(self.bus.logs), Custody(self.view.logs)
        await self.bus.logs.create(
            KEY, ttl=60.0, notes=self.here.opening(echo(), Choice("echo", "v"), "one")
        )
        return self

    async def note(self) -> StreamNote:
        known = stream_note(await self.bus.logs.notes(KEY))
        assert known is not None
        return known[0]


async def test_no_two_gateways_have_one_name() -> None:
    scene = await Scene().open()
    assert scene.here.name != scene.there.name


async def test_a_stream_that_begins_is_noted_as_it_is() -> None:
    scene = await Scene().open()
    note = await scene.note()
    assert (note.start, note.engine, note.voice) == (echo(), "echo", "v")
    assert (note.gateway, note.attachment) == (scene.here.name, 0)
    assert note.admits("one")
    assert await scene.here.has(KEY)
    assert not await scene.there.has(KEY)


async def test_who_takes_a_stream_has_it_from_then_on() -> None:
    scene = await Scene().open()
    taken = await scene.there.take(KEY, lambda note, _: note.admits("one"), tokens=("one", "two"))
    assert taken is not None
    note, before = taken
    assert (before, note) == (scene.here.name, await scene.note())
    assert (note.gateway, note.attachment) == (scene.there.name, 1)
    assert note.admits("two")
    assert not await scene.here.has(KEY)
    again = await scene.there.take(KEY, lambda *_: True, tokens=("two",))
    assert again is not None
    assert (again[1], again[0].attachment) == (scene.there.name, 2)
    assert not again[0].admits("one")


async def test_what_is_not_admitted_stays_as_it_is() -> None:
    scene = await Scene().open()
    before = await scene.note()
    assert await scene.there.take(KEY, lambda *_: False, tokens=("two",)) is None
    assert await scene.note() == before


async def test_a_stream_without_a_note_is_nobody_s() -> None:
    scene = await Scene().open()
    key = StreamKey("default", "bare")
    await scene.bus.logs.create(key, ttl=60.0)
    assert await scene.there.take(key, lambda *_: True, tokens=("two",)) is None
    assert not await scene.there.has(key)


async def test_a_stream_that_is_gone_cannot_be_taken() -> None:
    scene = await Scene().open()
    await scene.bus.logs.delete(KEY)
    with pytest.raises(SessionExpired):
        await scene.there.take(KEY, lambda *_: True, tokens=("two",))
    assert not await scene.here.has(KEY)


async def test_of_many_at_once_each_has_it_in_turn() -> None:
    scene = await Scene().open()
    gateways = [Custody(scene.view.logs) for _ in range(RACES)]
    taken = await asyncio.gather(
        *(one.take(KEY, lambda *_: True, tokens=("one",)) for one in gateways)
    )
    assert sorted(one[0].attachment for one in taken if one) == list(range(1, RACES + 1))
    assert [await one.has(KEY) for one in gateways].count(True) == 1


async def test_it_is_asked_again_what_is_admitted_when_another_came_first() -> None:
    scene = await Scene().open()
    asked = []

    def admits(note: StreamNote, notes: object) -> bool:
        asked.append(note.attachment)
        return note.attachment == 0

    one, other = Custody(scene.view.logs), Custody(scene.view.logs)
    taken = await asyncio.gather(
        *(gateway.take(KEY, admits, tokens=("one",)) for gateway in (one, other))
    )
    assert asked == [0, 0, 1]
    assert taken.count(None) == 1


async def test_who_never_comes_first_gives_up() -> None:
    scene = await Scene().open()
    scene.view.fake.contested = True
    with pytest.raises(BusUnavailable, match="taken over all the time"):
        await scene.there.take(KEY, lambda *_: True, tokens=("two",))
    assert await scene.here.has(KEY)


async def test_a_bus_that_does_not_answer_is_told() -> None:
    scene = await Scene().open()
    scene.view.fake.broken = True
    with pytest.raises(BusUnavailable):
        await scene.there.take(KEY, lambda *_: True, tokens=("two",))
    with pytest.raises(BusUnavailable):
        await scene.there.has(KEY)


def long_start(chars: int) -> StreamStart:
    return echo(options={"hint": "x" * chars})


async def test_a_start_that_no_note_holds_is_refused() -> None:
    scene = await Scene().open()
    with pytest.raises(MessageTooLarge, match="shorten its options"):
        scene.here.opening(long_start(NOTE_BYTES), Choice("echo", None), "one")


async def test_any_start_that_was_taken_can_be_taken_over() -> None:
    scene = await Scene().open()
    for chars in range(NOTE_BYTES - 600, NOTE_BYTES):
        try:
            notes = scene.here.opening(long_start(chars), Choice("echo", None), "one")
        except MessageTooLarge:
            break
    else:
        raise AssertionError("all of them are taken")
    key = StreamKey("default", "long")
    await scene.bus.logs.create(key, ttl=60.0, notes=notes)
    for _ in range(300):
        taken = await scene.there.take(key, lambda *_: True, tokens=("one", "two"))
        assert taken is not None
