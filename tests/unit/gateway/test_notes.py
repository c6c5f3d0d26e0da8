from collections.abc import Callable, Mapping

import pytest

from legato.bus.base import NOTE_BYTES, Direction, Record
from legato.errors import Internal
from legato.flow.places import DownPlace, Struck, UpPlace
from legato.gateway.notes import (
    NO_DOWN,
    NO_UP,
    STREAM,
    DownNote,
    StreamNote,
    UpNote,
    all_struck,
    digest,
    down_note,
    encode,
    stream_note,
    up_note,
)
from legato.gateway.relay import MAX_STRUCK
from tests.unit.gateway.stage import echo

NOTE = StreamNote(
    start=echo(options={"seed": 7}),
    engine="echo",
    voice=None,
    gateway="g",
    attachment=3,
    tokens=(digest("one"), digest("two")),
)


def kept(name: str, note: StreamNote | UpNote | DownNote, version: int = 5) -> Mapping[str, Record]:
    return {name: Record(encode(note), version)}


@pytest.mark.parametrize(("token", "admitted"), [("one", True), ("two", True), ("ü", False)])
def test_its_tokens_admit_and_no_others(token: str, admitted: bool) -> None:
    assert NOTE.admits(token) is admitted


def test_a_token_cannot_be_read_from_a_note() -> None:
    assert b"one" not in encode(NOTE)
    assert len(digest("one")) == 32
    assert not NOTE.admits(digest("one").hex())


def test_what_was_left_is_read_back() -> None:
    struck = (Struck(1, 4), Struck(2, 9))
    up = UpNote(entry=3, place=UpPlace(7, 640, 9, 2, True), struck=struck)
    down = DownNote(entry=2, read=6, place=DownPlace(5, 320, 1, b"\1" * 32, 0), struck=struck)
    assert stream_note(kept(STREAM, NOTE)) == (NOTE, 5)
    assert up_note(kept(Direction.UP.value, up)) == up
    assert down_note(kept(Direction.DOWN.value, down)) == down


def test_where_nothing_was_left_nothing_is_known() -> None:
    assert stream_note({}) is None
    assert up_note({}) is NO_UP
    assert down_note({}) is NO_DOWN
    assert (NO_UP.place.seq, NO_DOWN.place.seq) == (-1, -1)


def test_what_matters_of_all_cancels_is_in_their_order() -> None:
    place = DownPlace(5, 320, 1, bytes(32), ended=1)
    down = DownNote(entry=1, read=9, place=place, struck=(Struck(1, 2), Struck(2, 6)))
    up = UpNote(entry=1, place=UpPlace(), struck=(Struck(2, 6), Struck(4, 8)))
    logged = (Struck(3, 7), Struck(5, 9), Struck(0, 1))
    assert all_struck(up, down, logged) == (
        Struck(2, 6),
        Struck(3, 7),
        Struck(4, 8),
        Struck(5, 9),
    )


def test_without_cancels_nothing_is_struck() -> None:
    assert all_struck(NO_UP, NO_DOWN, ()) == ()


def test_as_many_cancels_as_are_noted_fit_into_a_note() -> None:
    struck = tuple(Struck(2**32 - 1 - n, 2**32 - 1) for n in range(MAX_STRUCK))
    place = DownPlace(2**32 - 1, 2**53 - 1, 2**32 - 1, b"\xff" * 32, 2**32 - 1)
    note = DownNote(entry=2**53, read=2**53, place=place, struck=struck)
    assert len(encode(note)) <= NOTE_BYTES
    up = UpNote(entry=2**53, place=UpPlace(2**32 - 1, 2**53 - 1, 2**53 - 1), struck=struck)
    assert len(encode(up)) <= NOTE_BYTES


@pytest.mark.parametrize(
    ("name", "read"),
    [(STREAM, stream_note), (Direction.UP.value, up_note), (Direction.DOWN.value, down_note)],
)
@pytest.mark.parametrize("value", [b"\x81\xa4news\x01", b"\xc1"], ids=["other fields", "no note"])
def test_a_note_that_is_not_understood_is_refused_by_code(
    name: str, read: Callable[[Mapping[str, Record]], object], value: bytes
) -> None:
    with pytest.raises(Internal, match="not understood"):
        read({name: Record(value, 1)})
