import itertools

import pytest

from legato.engines.upstream.breaker import NEXT, Breaker, Rules, Signal, State

RULES = Rules(failures=3, cooldown=2.0, longest=60.0)


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker(RULES)
    breaker.fail(now, for_good=True)
    return breaker


def test_the_table_has_every_state_and_signal() -> None:
    assert set(NEXT) == set(itertools.product(State, Signal))


def test_failures_in_a_row_open_it() -> None:
    breaker = Breaker(RULES)
    breaker.fail(0.0)
    breaker.fail(0.0)
    assert breaker.state(0.0) is State.CLOSED
    breaker.fail(0.0)
    assert breaker.state(0.0) is State.OPEN


def test_a_success_between_them_forgives() -> None:
    breaker = Breaker(RULES)
    for _ in range(4):
        breaker.fail(0.0)
        breaker.fail(0.0)
        breaker.succeed(0.0)
    assert breaker.state(0.0) is State.CLOSED


def test_it_stays_open_for_the_cooldown_and_then_lets_a_trial_pass() -> None:
    breaker = opened()
    assert breaker.until == 2.0
    assert breaker.state(1.99) is State.OPEN
    assert breaker.state(2.0) is State.HALF_OPEN


def test_a_trial_that_succeeds_closes_it() -> None:
    breaker = opened()
    breaker.succeed(2.0)
    assert breaker.state(2.0) is State.CLOSED


def test_the_success_of_an_older_stream_does_not_close_it() -> None:
    breaker = opened()
    breaker.succeed(1.0)
    assert breaker.state(1.0) is State.OPEN


def test_each_trial_that_fails_doubles_the_cooldown_up_to_the_longest() -> None:
    breaker = opened()
    waits = []
    for _ in range(8):
        now = breaker.until
        breaker.fail(now)
        waits.append(breaker.until - now)
    assert waits == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


def test_after_a_trial_that_succeeded_the_cooldown_is_the_first_again() -> None:
    breaker = opened()
    breaker.fail(2.0)
    breaker.succeed(6.0)
    breaker.fail(7.0, for_good=True)
    assert breaker.until == 9.0


def test_a_sign_of_life_ends_the_cooldown() -> None:
    breaker = opened()
    breaker.cool(0.5)
    assert breaker.state(0.5) is State.HALF_OPEN


def test_a_sign_of_life_changes_nothing_of_one_that_is_closed() -> None:
    breaker = Breaker(RULES)
    breaker.cool(0.0)
    assert breaker.state(0.0) is State.CLOSED


@pytest.mark.parametrize("failures", [1, 5])
def test_how_many_failures_open_it_is_a_rule(failures: int) -> None:
    breaker = Breaker(Rules(failures=failures))
    for number in range(failures):
        assert breaker.state(0.0) is State.CLOSED, number
        breaker.fail(0.0)
    assert breaker.state(0.0) is State.OPEN
