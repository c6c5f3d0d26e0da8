import random

from hypothesis import given
from hypothesis import strategies as st

from legato.flow.backoff import ARTICLES, INTERACTIVE, Backoff

seeds = st.integers()
waits = st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=100)


@given(seed=seeds, waits=waits)
def test_an_interactive_delay_is_within_its_ceiling(seed: int, waits: list[float]) -> None:
    backoff, now = Backoff(random.Random(seed)), 0.0
    for attempt, wait in enumerate(waits):
        now += wait
        delay = backoff.next_delay(now)
        cap = 8.0 if now - waits[0] >= 15.0 else 1.0
        assert 0 <= delay <= min(cap, 0.25 * 2**attempt)


@given(seed=seeds)
def test_the_articles_delays_are_within_a_tenth(seed: int) -> None:
    backoff = Backoff(random.Random(seed), ARTICLES)
    for attempt in range(10):
        exact = min(60.0, 2.0**attempt)
        assert exact <= backoff.next_delay(0.0) <= exact * 1.1


@given(seed=seeds, retry_after=st.floats(min_value=0, max_value=1e4))
def test_nobody_comes_back_before_the_server_said(seed: int, retry_after: float) -> None:
    delay = Backoff(random.Random(seed)).next_delay(0.0, retry_after)

    assert retry_after <= delay <= retry_after + INTERACTIVE.base


@given(seed=seeds)
def test_the_same_seed_gives_the_same_delays(seed: int) -> None:
    one, other = Backoff(random.Random(seed)), Backoff(random.Random(seed))

    assert [one.next_delay(0.0) for _ in range(9)] == [other.next_delay(0.0) for _ in range(9)]
