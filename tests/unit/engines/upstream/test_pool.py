import pytest

from legato.engines.upstream.breaker import Rules, State
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.pool import LONGEST_REST, Pool
from legato.errors import EngineUnavailable, Overloaded

BROKEN = Fault(Kind.BROKEN, "it broke")
DENIED = Fault(Kind.DENIED, "no key")
BUSY = Fault(Kind.BUSY, "later", retry_after=5.0)


def pool(size: int = 3, streams: int = 2) -> Pool:
    return Pool(size, streams=streams, rules=Rules(failures=2, cooldown=2.0))


def test_the_least_loaded_is_chosen() -> None:
    one = pool()
    assert [one.take(0.0) for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    one.give_back(1)
    assert one.take(0.0) == 1


def test_of_equals_the_one_asked_longest_ago_is_chosen() -> None:
    one = pool()
    for expected in (0, 1, 2, 0):
        assert one.take(0.0) == expected
        one.give_back(expected)


def test_one_that_was_tried_is_avoided() -> None:
    assert pool().take(0.0, avoid={0, 1}) == 2


def test_when_all_are_full_it_is_overloaded() -> None:
    one = pool(size=1, streams=1)
    one.take(0.0)
    with pytest.raises(Overloaded) as caught:
        one.take(0.0)
    assert caught.value.retry_after == 1.0


def test_one_whose_breaker_is_open_is_not_asked() -> None:
    one = pool(size=2)
    for _ in range(2):
        one.fail(0, 0.0, BROKEN)
    assert one.states(0.0) == (State.OPEN, State.CLOSED)
    assert [one.take(0.0), one.take(0.0)] == [1, 1]


def test_when_none_works_it_says_when_one_is_tried_again() -> None:
    one = pool(size=2)
    one.fail(0, 0.0, DENIED)
    one.fail(1, 0.5, DENIED)
    with pytest.raises(EngineUnavailable) as caught:
        one.take(1.0)
    assert caught.value.retry_after == 1.0


def test_when_only_those_that_were_tried_work_none_does() -> None:
    with pytest.raises(EngineUnavailable):
        pool().take(0.0, avoid={0, 1, 2})
    one = pool(size=2)
    one.fail(1, 0.0, DENIED)
    with pytest.raises(EngineUnavailable):
        one.take(0.0, avoid={0})


def test_a_half_open_one_gets_a_single_request() -> None:
    one = pool(size=1)
    one.fail(0, 0.0, DENIED)
    assert one.take(2.0) == 0
    with pytest.raises(Overloaded):
        one.take(2.0)
    one.succeed(0, 2.0)
    assert one.take(2.0) == 0


def test_a_busy_one_rests_as_long_as_it_asks_and_its_breaker_stays_closed() -> None:
    one = pool(size=1)
    for _ in range(5):
        one.fail(0, 0.0, BUSY)
    with pytest.raises(Overloaded) as caught:
        one.take(1.0)
    assert caught.value.retry_after == 4.0
    assert one.take(5.0) == 0


def test_a_long_retry_after_is_not_believed() -> None:
    one = pool(size=1)
    one.fail(0, 0.0, Fault(Kind.BUSY, "never", retry_after=1e9))
    assert one.take(LONGEST_REST) == 0


def test_probes_that_fail_open_the_breaker_and_one_that_succeeds_allows_a_trial() -> None:
    one = pool(size=1)
    one.probed(0, 0.0, well=False)
    one.probed(0, 0.0, well=False)
    assert one.states(0.0) == (State.OPEN,)
    one.probed(0, 0.1, well=True)
    assert one.states(0.1) == (State.HALF_OPEN,)


def test_probes_do_not_lengthen_the_cooldown() -> None:
    one = pool(size=1)
    one.fail(0, 0.0, DENIED)
    one.probed(0, 1.0, well=False)
    assert one.states(2.0) == (State.HALF_OPEN,)


def test_only_those_that_serve_nothing_need_a_probe() -> None:
    one = pool()
    one.take(0.0)
    assert one.idle() == (1, 2)
