"""Notes beside a stream's logs: they live and die with it, and a trim can carry one."""

import asyncio

import pytest

from legato.bus.base import NOTE_BYTES, NOTES, Direction
from legato.errors import SessionExpired, StreamExists
from tests.contract.buses import Rig, filled, frame, settled, stream

UP, DOWN = Direction.UP, Direction.DOWN
KEY = stream()


async def values(rig: Rig) -> dict[str, bytes]:
    notes = await rig.peer.logs.notes(KEY)
    return {name: record.value for name, record in notes.items()}


async def test_a_stream_is_made_with_its_notes(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"start": b"\x00\xff", "owner": b""})
    assert await values(rig) == {"start": b"\x00\xff", "owner": b""}


async def test_a_stream_that_exists_keeps_its_notes(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"start": b"1"})
    with pytest.raises(StreamExists):
        await rig.peer.logs.create(KEY, ttl=rig.long, notes={"start": b"2"})
    assert await values(rig) == {"start": b"1"}


async def test_a_stream_without_notes_has_none(rig: Rig) -> None:
    await filled(rig, KEY, 1)
    assert await values(rig) == {}


async def test_a_note_is_written_over(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"a": b"1"})
    before = (await rig.bus.logs.notes(KEY))["a"].version
    assert await rig.peer.logs.note(KEY, "a", b"2")
    assert await rig.bus.logs.note(KEY, "b", b"3")
    notes = await rig.bus.logs.notes(KEY)
    assert {name: record.value for name, record in notes.items()} == {"a": b"2", "b": b"3"}
    assert notes["a"].version > before > 0


async def test_a_note_is_written_only_over_the_version_expected(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    assert not await rig.bus.logs.note(KEY, "a", b"1", expected=7)
    assert await rig.bus.logs.note(KEY, "a", b"1", expected=0)
    assert not await rig.peer.logs.note(KEY, "a", b"2", expected=0)
    version = (await rig.peer.logs.notes(KEY))["a"].version
    assert await rig.peer.logs.note(KEY, "a", b"2", expected=version)
    assert not await rig.bus.logs.note(KEY, "a", b"3", expected=version)
    assert await values(rig) == {"a": b"2"}


async def test_of_those_who_expect_the_same_version_one_writes(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"a": b"0"})
    version = (await rig.bus.logs.notes(KEY))["a"].version
    written = await asyncio.gather(
        *(
            bus.logs.note(KEY, "a", b"%d" % n, expected=version)
            for n, bus in enumerate([rig.bus, rig.peer] * 5)
        )
    )
    assert sum(written) == 1
    assert await values(rig) == {"a": b"%d" % written.index(True)}


async def test_notes_of_a_stream_that_is_not_there_are_refused(rig: Rig) -> None:
    with pytest.raises(SessionExpired):
        await rig.bus.logs.notes(KEY)
    with pytest.raises(SessionExpired):
        await rig.bus.logs.note(KEY, "a", b"1")
    with pytest.raises(SessionExpired):
        await rig.bus.logs.note(KEY, "a", b"1", expected=0)
    await rig.bus.logs.trim(KEY, UP, upto=1, note=b"1")
    assert not await rig.bus.logs.exists(KEY)


async def test_notes_are_deleted_with_their_stream(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"a": b"1"})
    await rig.bus.logs.delete(KEY)
    with pytest.raises(SessionExpired):
        await rig.peer.logs.notes(KEY)
    with pytest.raises(SessionExpired):
        await rig.peer.logs.note(KEY, "a", b"2")


async def test_notes_expire_with_their_stream_and_live_on_with_it(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=2 * rig.tick, notes={"a": b"1"})
    await rig.bus.logs.touch(KEY, ttl=5 * rig.tick)
    await rig.advance(3 * rig.tick)
    assert await values(rig) == {"a": b"1"}
    assert await rig.bus.logs.note(KEY, "b", b"2")
    await rig.advance(3 * rig.tick)
    with pytest.raises(SessionExpired):
        await rig.bus.logs.notes(KEY)
    await rig.bus.logs.create(KEY, ttl=rig.long)
    assert await values(rig) == {}


async def test_a_note_comes_with_what_was_trimmed(rig: Rig) -> None:
    await filled(rig, KEY, 5)
    await rig.bus.logs.trim(KEY, UP, upto=2, note=b"two")
    assert await values(rig) == {"up": b"two"}
    await rig.peer.logs.trim(KEY, UP, upto=99, note=b"all")
    assert await values(rig) == {"up": b"all"}
    await settled(rig.bus.logs.writer(KEY, DOWN), frame(0))
    await rig.bus.logs.trim(KEY, DOWN, upto=1, note=b"one")
    assert await values(rig) == {"up": b"all", "down": b"one"}


async def test_a_trim_that_forgets_nothing_leaves_the_note(rig: Rig) -> None:
    await filled(rig, KEY, 5)
    await rig.bus.logs.trim(KEY, DOWN, upto=3, note=b"nothing there")
    await rig.bus.logs.trim(KEY, UP, upto=3, note=b"three")
    version = (await rig.bus.logs.notes(KEY))["up"].version
    await rig.peer.logs.trim(KEY, UP, upto=2, note=b"late")
    await rig.peer.logs.trim(KEY, UP, upto=3, note=b"again")
    await rig.peer.logs.trim(KEY, UP, upto=4)
    notes = await rig.bus.logs.notes(KEY)
    assert set(notes) == {"up"}
    assert (notes["up"].value, notes["up"].version) == (b"three", version)


async def test_trimming_writes_over_a_note_whatever_its_version(rig: Rig) -> None:
    await filled(rig, KEY, 3)
    await rig.bus.logs.note(KEY, "up", b"by hand")
    version = (await rig.bus.logs.notes(KEY))["up"].version
    await rig.bus.logs.trim(KEY, UP, upto=1, note=b"one")
    assert not await rig.bus.logs.note(KEY, "up", b"late", expected=version)
    assert await values(rig) == {"up": b"one"}


async def test_a_note_has_a_largest_size(rig: Rig) -> None:
    largest = bytes(NOTE_BYTES)
    with pytest.raises(ValueError, match="4096"):
        await rig.bus.logs.create(KEY, ttl=rig.long, notes={"a": largest + b"1"})
    await filled(rig, KEY, 1)
    with pytest.raises(ValueError, match="4096"):
        await rig.bus.logs.note(KEY, "a", largest + b"1")
    with pytest.raises(ValueError, match="4096"):
        await rig.bus.logs.trim(KEY, UP, upto=1, note=largest + b"1")
    assert len(await rig.bus.logs.read(KEY, UP)) == 1
    assert await rig.bus.logs.note(KEY, "a", largest)
    assert await values(rig) == {"a": largest}


async def test_a_stream_has_a_largest_number_of_notes_beside_those_of_trims(rig: Rig) -> None:
    names = [f"n{n}" for n in range(NOTES)]
    with pytest.raises(ValueError, match="16"):
        await rig.bus.logs.create(
            KEY, ttl=rig.long, notes=dict.fromkeys([*names, "one more"], b"1")
        )
    await filled(rig, KEY, 2)
    for name in names:
        assert await rig.bus.logs.note(KEY, name, b"1")
    with pytest.raises(ValueError, match="16"):
        await rig.bus.logs.note(KEY, "one more", b"1")
    await rig.bus.logs.trim(KEY, UP, upto=1, note=b"1")
    assert await rig.bus.logs.note(KEY, "down", b"1")
    assert await rig.bus.logs.note(KEY, names[0], b"2")
    assert set(await values(rig)) == {*names, "up", "down"}


async def test_notes_are_of_one_stream(rig: Rig) -> None:
    other = stream(tenant="other")
    await rig.bus.logs.create(KEY, ttl=rig.long, notes={"a": b"1"})
    await rig.bus.logs.create(other, ttl=rig.long, notes={"a": b"2"})
    await rig.bus.logs.delete(other)
    assert await values(rig) == {"a": b"1"}
