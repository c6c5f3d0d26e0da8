import pytest

from legato.bus.base import Direction, Entry
from legato.bus.redis.encoding import encode_entry
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply
from legato.bus.redis.view import View, read_commands
from legato.errors import Internal, ResumeGap, SessionExpired
from tests.contract.buses import frame, stream

KEY = stream()


def batch(*numbers: int) -> Reply:
    """An entry of Redis with some of ours."""
    payloads = [part for n in numbers for part in (b"e", encode_entry(frame(n)))]
    return [b"%d-0" % numbers[-1], [b"b", b"0 9", *payloads]]


def view(*batches: Reply, trimmed: int = 0, incarnation: bytes | None = b"i") -> View:
    return View.of(KEY, Direction.UP, [[incarnation, b"k", b"%d" % trimmed], list(batches)])


def numbers(view: View, start: int) -> list[int]:
    entries = view.entries(start)
    assert entries == [Entry(entry.number, frame(entry.number)) for entry in entries]
    return [entry.number for entry in entries]


def test_the_commands_read_from_a_number_on() -> None:
    keys = Keys("legato").stream(KEY)
    state, entries = read_commands(keys, Direction.DOWN, "k", start=5, limit=10)
    assert state == ("HMGET", "legato:{default/s1}:r", "g", "dk", "dt")
    assert entries == ("XRANGE", "legato:{default/s1}:d:k", "5-0", "+", "COUNT", 10)


def test_entries_that_follow_on_are_returned() -> None:
    seen = view(batch(3), batch(4, 5, 6), batch(7))
    assert numbers(seen, 3) == [3, 4, 5, 6, 7]
    assert numbers(seen, 4) == [4, 5, 6, 7]
    assert numbers(seen, 5) == [5, 6, 7]


def test_entries_behind_a_hole_are_not() -> None:
    assert numbers(view(batch(3), batch(4)), 2) == []
    assert numbers(view(batch(3), batch(5)), 3) == [3]


def test_a_log_that_nobody_has_written_to_has_no_token() -> None:
    seen = View.of(KEY, Direction.UP, [[b"i", None, None], []])
    assert (seen.token, seen.trimmed, seen.entries(1)) == ("", 0, [])


def test_a_stream_that_is_gone_is_told() -> None:
    with pytest.raises(SessionExpired):
        view(incarnation=None).check(b"", 0)


def test_a_later_stream_of_the_same_name_is_another() -> None:
    view().check(b"", 0)
    view().check(b"i", 0)
    with pytest.raises(SessionExpired):
        view().check(b"before", 0)


def test_trimmed_entries_are_told_with_their_range() -> None:
    view(trimmed=3).check(b"i", 3)
    with pytest.raises(ResumeGap) as caught:
        view(trimmed=3).check(b"i", 1)
    assert caught.value.missing == (2, 4)


@pytest.mark.parametrize("replies", [[], [[b"i"], []], [None, None], [b"i", [1]]])
def test_other_replies_are_not_understood(replies: list[object]) -> None:
    with pytest.raises(Internal):
        View.of(KEY, Direction.UP, replies)


def test_what_is_no_entry_is_not_understood() -> None:
    with pytest.raises(Internal):
        view([b"1-0", [b"x", b"y"]]).entries(1)
