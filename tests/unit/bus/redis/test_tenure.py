import pytest

from legato.bus.base import Direction
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply
from legato.bus.redis.tenure import Elsewhere, Taken, Tenure, size_of
from legato.errors import EpochChanged, SessionExpired, SessionReplaced
from tests.contract.buses import stream


def tenure() -> Tenure:
    keys = Keys("legato").stream(stream())
    return Tenure(stream(), Direction.DOWN, fence=3, writer="w", keys=keys)


def held(last: int = 4, stored: int = 90) -> Tenure:
    """A log that is held."""
    log = tenure()
    log.take("aa/1")
    log.taken([b"ok", b"i", 2, last, stored, 0, b"bb/2", b""], 2)
    return log


def test_a_log_is_taken_under_a_token_that_nobody_else_knows() -> None:
    log = tenure()
    tokens = {log.take("aa/1")[-2] for _ in range(10)}
    assert len(tokens) == 10
    command = log.take("aa/1")
    assert command[2:8] == (1, "legato:{default/s1}:r", "d", b"", 3, "w")
    assert log.taken([b"ok", b"i", 2, 4, 90, 30, b"bb/2", b"cc/3"], 2) == Taken(2, 30, "cc/3")
    assert (log.token, log.last, log.stored, log.readers) == (command[-2], 4, 90, "bb/2")
    assert log.take("aa/1")[5] == b"i", "from now on the same stream is meant"


def test_entries_are_stored_behind_the_last_one() -> None:
    log = held()
    key = f"legato:{{default/s1}}:d:{log.token}"
    sizes = f"90 {90 + size_of((b'a', b'bb'))}"
    expected = ("XADD", key, "NOMKSTREAM", "6-0", "b", sizes, "e", b"a", "e", b"bb")
    assert log.store((b"a", b"bb")) == expected
    log.advance((b"a", b"bb"))
    assert log.store((b"c",))[3] == "7-0"
    assert log.stored == 90 + size_of((b"a", b"bb"))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ([b"gone"], SessionExpired),
        ([b"fenced", b"9"], SessionReplaced),
        ([b"lost"], Elsewhere),
        ([b"ok", b"i", 1, 1, 20, 0, b"", b""], EpochChanged),
    ],
)
def test_a_log_that_cannot_be_held_says_why(reply: Reply, kind: type[Exception]) -> None:
    log = held()
    log.take("aa/1")
    with pytest.raises(kind):
        log.taken(reply, 2)
    assert log.token == ""


def test_a_look_shows_what_was_trimmed_and_who_reads() -> None:
    log = held()
    assert log.look() == ("HMGET", "legato:{default/s1}:r", "g", "df", "dk", "dx", "dr")
    assert log.looked([b"i", b"3", log.token.encode(), b"40", b"bb/2 dd/4"]) == 40
    assert log.readers == "bb/2 dd/4"
    assert log.looked([b"i", b"3", log.token.encode(), None, None]) == 0
    assert log.readers == ""


def test_a_look_shows_that_another_holds_the_log() -> None:
    log = held()
    assert log.looked([b"i", b"3", b"another", b"40", None]) is None
    with pytest.raises(SessionReplaced, match="replaced by 4"):
        log.looked([b"i", b"4", b"another", b"40", None])


@pytest.mark.parametrize("state", [[None] * 5, [b"j", b"3", b"k", None, None]])
def test_a_look_shows_that_the_stream_is_gone(state: Reply) -> None:
    with pytest.raises(SessionExpired):
        held().looked(state)
