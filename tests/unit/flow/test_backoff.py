import math

import pytest

from legato.errors import ConnectionLost
from legato.flow.backoff import ARTICLES, INTERACTIVE, Backoff, Profile


class FixedGenerator:
    """Always draws the same number."""

    def __init__(self, drawn: float) -> None:
        self.drawn = drawn

    def random(self) -> float:
        return self.drawn


def delays(backoff: Backoff, count: int, now: float = 0.0) -> list[float]:
    return [backoff.next_delay(now) for _ in range(count)]


def test_the_ceiling_doubles_up_to_the_cap() -> None:
    assert delays(Backoff(FixedGenerator(1.0)), 5) == [0.25, 0.5, 1.0, 1.0, 1.0]


def test_full_jitter_draws_the_whole_delay() -> None:
    assert delays(Backoff(FixedGenerator(0.5)), 3) == [0.125, 0.25, 0.5]
    assert delays(Backoff(FixedGenerator(0.0)), 3) == [0.0, 0.0, 0.0]


def test_lasting_trouble_makes_patient() -> None:
    backoff = Backoff(FixedGenerator(1.0))
    for now in range(100, 107):
        backoff.next_delay(now)

    assert backoff.next_delay(114.9) == 1.0
    assert backoff.next_delay(115.0) == 8.0


def test_a_success_starts_over() -> None:
    backoff = Backoff(FixedGenerator(1.0))
    for now in range(30):
        backoff.next_delay(now)
    assert backoff.attempts == 30

    backoff.reset()

    assert backoff.attempts == 0
    assert delays(backoff, 3, now=40.0) == [0.25, 0.5, 1.0]


def test_what_the_server_asks_for_is_a_floor_with_jitter_on_top() -> None:
    assert Backoff(FixedGenerator(0.0)).next_delay(0.0, retry_after=4.0) == 4.0
    assert Backoff(FixedGenerator(1.0)).next_delay(0.0, retry_after=4.0) == 4.25
    assert Backoff(FixedGenerator(1.0)).next_delay(0.0, retry_after=-4.0) == 0.25


def test_the_articles_profile_doubles_from_1_to_60_with_a_tenth_added_at_most() -> None:
    expected = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]

    assert delays(Backoff(FixedGenerator(0.0), ARTICLES), 10) == expected
    assert delays(Backoff(FixedGenerator(1.0), ARTICLES), 10) == pytest.approx(
        [1.1 * delay for delay in expected]
    )


def test_after_the_last_try_it_gives_up() -> None:
    backoff = Backoff(FixedGenerator(0.0), ARTICLES)
    exhausted = []
    for _ in range(10):
        exhausted.append(backoff.is_exhausted)
        backoff.next_delay(0.0)

    assert (exhausted, backoff.is_exhausted) == ([False] * 10, True)
    with pytest.raises(ConnectionLost, match="gave up after 10 attempts"):
        backoff.next_delay(0.0)


def test_a_profile_without_tries_never_gives_up() -> None:
    backoff = Backoff(FixedGenerator(1.0))
    delays(backoff, 5000)

    assert not backoff.is_exhausted


def test_ceilings_do_not_overflow() -> None:
    profile = Profile(base=1.0, cap=math.inf)

    assert profile.ceiling(5000, trouble=0.0) == 2.0**64
    assert INTERACTIVE.ceiling(5000, trouble=0.0) == 1.0
