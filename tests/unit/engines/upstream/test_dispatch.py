import threading
from collections.abc import Callable, Generator

import pytest

from legato.engines.upstream.breaker import Rules, State
from legato.engines.upstream.cancellation import Cancellation, Stream
from legato.engines.upstream.dispatch import Attempt, Dispatch, Patience
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.pool import Pool
from legato.errors import EngineFailed, EngineTimeout, EngineUnavailable, Overloaded

PATIENCE = Patience(attempts=3, first_byte=6.0, give_up_after=9.0)
BROKEN = Fault(Kind.BROKEN, "it broke")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Upstreams:
    """What each upstream gives: pieces, and faults that are raised."""

    def __init__(self, clock: Clock, **given: list[bytes | Fault | float]) -> None:
        self.given = given
        self.asked: list[str] = []
        self.deadlines: list[float] = []
        self.closed: list[str] = []
        self.dispatch = Dispatch(
            "lark",
            tuple(given),
            Pool(len(given), streams=2, rules=Rules(failures=2)),
            patience=PATIENCE,
            clock=clock,
        )
        self._clock = clock

    def ask(self, attempt: Attempt[str]) -> Generator[bytes, None, None]:
        self.asked.append(attempt.endpoint)
        self.deadlines.append(attempt.deadline)
        try:
            for one in self.given[attempt.endpoint]:
                if isinstance(one, Fault):
                    raise one
                if isinstance(one, float):
                    self._clock.now += one
                else:
                    yield one
        finally:
            self.closed.append(attempt.endpoint)

    def run(self, cancellation: Cancellation | None = None) -> Generator[bytes, None, None]:
        return self.dispatch.run(self.ask, cancellation or Cancellation())


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_an_upstream_gives_is_given_on(clock: Clock) -> None:
    assert list(Upstreams(clock, a=[b"1", b"2"]).run()) == [b"1", b"2"]


def test_before_anything_came_another_is_tried(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[BROKEN], b=[b"1"])
    assert list(upstreams.run()) == [b"1"]
    assert upstreams.asked == ["a", "b"]


def test_after_the_first_piece_none_is(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[b"1", BROKEN], b=[b"1"])
    run = upstreams.run()
    assert next(run) == b"1"
    with pytest.raises(EngineFailed, match="lark: it broke"):
        next(run)
    assert upstreams.asked == ["a"]


def test_no_upstream_is_tried_twice(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[BROKEN], b=[BROKEN])
    with pytest.raises(EngineFailed):
        list(upstreams.run())
    assert upstreams.asked == ["a", "b"]


def test_it_is_tried_no_more_often_than_allowed(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[BROKEN], b=[BROKEN], c=[BROKEN], d=[b"1"])
    with pytest.raises(EngineFailed):
        list(upstreams.run())
    assert upstreams.asked == ["a", "b", "c"]


def test_an_unfit_request_is_not_tried_elsewhere(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[Fault(Kind.UNFIT, "no")], b=[b"1"])
    with pytest.raises(EngineFailed):
        list(upstreams.run())
    assert upstreams.asked == ["a"]


def test_an_empty_answer_is_a_fault(clock: Clock) -> None:
    with pytest.raises(EngineFailed, match="empty"):
        list(Upstreams(clock, a=[]).run())


def test_all_attempts_share_the_time_in_which_to_give_up(clock: Clock) -> None:
    slow = Fault(Kind.SLOW, "slow")
    upstreams = Upstreams(clock, a=[6.0, slow], b=[3.0, slow], c=[b"1"])
    with pytest.raises(EngineTimeout):
        list(upstreams.run())
    assert upstreams.deadlines == [106.0, 109.0]


def test_a_place_is_given_back_whatever_happens(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[b"1", b"2"])
    for _ in range(5):
        run = upstreams.run()
        next(run)
        run.close()
    assert upstreams.closed == ["a"] * 5
    assert list(upstreams.run()) == [b"1", b"2"]


def test_a_cancelled_stream_ends_without_an_error_and_without_blame(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[BROKEN], b=[BROKEN])
    for _ in range(5):
        cancellation = Cancellation()

        def ask(
            attempt: Attempt[str], one: Cancellation = cancellation
        ) -> Generator[bytes, None, None]:
            one.cancel()  # shuts the socket that is waited on
            yield from upstreams.ask(attempt)

        assert list(upstreams.dispatch.run(ask, cancellation)) == []
        assert list(upstreams.run(cancellation)) == []
    assert len(upstreams.asked) == 5
    assert upstreams.dispatch.states() == (State.CLOSED, State.CLOSED)


def test_when_none_is_left_the_last_fault_is_told(clock: Clock) -> None:
    busy = Fault(Kind.BUSY, "later", retry_after=7.0)
    with pytest.raises(Overloaded) as caught:
        list(Upstreams(clock, a=[busy]).run())
    assert caught.value.retry_after == 7.0


def test_when_none_may_be_asked_that_is_told(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[Fault(Kind.DENIED, "no key")])
    for expected in ("no key", "no upstream works"):
        with pytest.raises(EngineUnavailable, match=f"lark: {expected}"):
            list(upstreams.run())
    assert upstreams.asked == ["a"]


def test_a_trial_after_the_cooldown_closes_the_breaker(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[Fault(Kind.DENIED, "no key")])
    with pytest.raises(EngineUnavailable):
        list(upstreams.run())
    upstreams.given["a"] = [b"1"]
    clock.now += 2.0
    assert list(upstreams.run()) == [b"1"]
    assert upstreams.dispatch.states() == (State.CLOSED,)


def test_a_probe_finds_a_dead_upstream_before_it_is_asked(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[b"1"], b=[b"2"])
    alive: Callable[[str], bool] = lambda endpoint: endpoint == "b"  # noqa: E731  one expression
    upstreams.dispatch.probe(alive)
    upstreams.dispatch.probe(alive)
    assert upstreams.dispatch.states() == (State.OPEN, State.CLOSED)
    assert list(upstreams.run()) == [b"2"]


def test_when_all_that_work_are_busy_it_waits_for_a_place() -> None:
    pool = Pool(1, streams=1, rules=Rules())
    dispatch = Dispatch("lark", ("a",), pool, patience=PATIENCE)
    heard: list[list[bytes]] = []
    first = dispatch.run(pieces, Cancellation())
    next(first)
    thread = threading.Thread(
        target=lambda: heard.append(list(dispatch.run(pieces, Cancellation())))
    )
    thread.start()
    thread.join(0.05)
    assert heard == []
    first.close()
    thread.join(5)
    assert heard == [[b"1", b"2"]]


def test_one_that_waits_for_a_place_can_be_cancelled() -> None:
    dispatch = Dispatch("lark", ("a",), Pool(1, streams=1, rules=Rules()), patience=PATIENCE)
    first = dispatch.run(pieces, Cancellation())
    next(first)
    cancellation = Cancellation()
    stream = Stream(dispatch.run(pieces, cancellation), cancellation)
    heard: list[list[bytes]] = []
    thread = threading.Thread(target=lambda: heard.append(list(stream)))
    thread.start()
    stream.interrupt()
    thread.join(5)
    assert heard == [[]]
    first.close()


def test_it_does_not_wait_longer_than_until_it_gives_up() -> None:
    patience = Patience(attempts=3, first_byte=0.01, give_up_after=0.01)
    dispatch = Dispatch("lark", ("a",), Pool(1, streams=1, rules=Rules()), patience=patience)
    first = dispatch.run(pieces, Cancellation())
    next(first)
    with pytest.raises(Overloaded, match="busy"):
        list(dispatch.run(pieces, Cancellation()))
    first.close()


def test_it_does_not_wait_for_one_that_rests_for_longer(clock: Clock) -> None:
    upstreams = Upstreams(clock, a=[Fault(Kind.BUSY, "later", retry_after=60.0)])
    for _ in range(2):
        with pytest.raises(Overloaded) as caught:
            list(upstreams.run())
        assert caught.value.retry_after == 60.0
    assert upstreams.asked == ["a"]


def pieces(_attempt: Attempt[str]) -> Generator[bytes, None, None]:
    yield b"1"
    yield b"2"
