from itertools import count

import pytest

from legato.bus.base import NOTE_BYTES, Record
from legato.bus.memory.log import Tally
from legato.bus.memory.notes import Notes


def test_their_size_is_part_of_what_streams_hold() -> None:
    tally, versions = Tally(), count(1)
    empty = Notes({}, versions, tally)
    assert tally.size_bytes == 0
    notes = Notes({"a": bytes(100)}, versions, tally)
    one = tally.size_bytes
    assert one > 100
    notes.put("a", bytes(300))
    assert tally.size_bytes == one + 200
    empty.put("b", b"")
    assert tally.size_bytes > one + 200
    notes.end()
    empty.end()
    assert tally.size_bytes == 0
    assert notes.records() == {}


def test_what_is_refused_changes_nothing() -> None:
    tally = Tally()
    notes = Notes({"a": b"1"}, count(1), tally)
    before = tally.size_bytes
    with pytest.raises(ValueError, match="limit"):
        notes.put("a", bytes(NOTE_BYTES + 1))
    for n in range(15):
        notes.put(f"n{n}", b"")
    full = tally.size_bytes
    with pytest.raises(ValueError, match="16 notes"):
        notes.put("one more", b"")
    assert not notes.put("a", b"22", expected=99)
    assert tally.size_bytes == full > before
    assert notes.records()["a"] == Record(b"1", 1)


def test_a_later_note_has_a_higher_version_in_every_stream() -> None:
    versions = count(1)
    one, other = (Notes({"a": b""}, versions, Tally()) for _ in range(2))
    one.put("a", b"1")
    other.put("a", b"1")
    assert (one.records()["a"].version, other.records()["a"].version) == (3, 4)


def test_what_was_read_does_not_change() -> None:
    notes = Notes({"a": b"1"}, count(1), Tally())
    before = notes.records()
    notes.put("a", b"2")
    assert before == {"a": Record(b"1", 1)}
