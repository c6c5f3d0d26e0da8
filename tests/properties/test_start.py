"""Laws of the adaptive start."""

from hypothesis import given
from hypothesis import strategies as st

from legato.flow.start import LEAST_START, MOST_REMAINING, MOST_START, AdaptiveStart, Arrivals

RATE = 16_000
FRAME = 320

waits = st.lists(st.floats(0, 0.5), min_size=1, max_size=40)
delays = st.lists(st.floats(0, 30), max_size=40)


def instants(gaps: list[float]) -> list[float]:
    at = 100.0
    return [at := at + gap for gap in gaps]


def required(arrived: list[float]) -> float:
    arrivals = Arrivals(RATE)
    for number, now in enumerate(arrived):
        arrivals.add(number * FRAME, now)
    return arrivals.required_delay


@given(waits)
def test_the_required_delay_is_the_least_that_leaves_no_gap(gaps: list[float]) -> None:
    arrived = instants(gaps)
    delay = required(arrived)

    spare = [arrived[0] + delay + number * FRAME / RATE - now for number, now in enumerate(arrived)]
    assert min(spare) >= -1e-9
    assert min(spare) <= 1e-9


@given(waits, st.floats(-50, 50))
def test_no_clock_has_to_agree(gaps: list[float], offset: float) -> None:
    arrived = instants(gaps)

    assert abs(required(arrived) - required([now + offset for now in arrived])) < 1e-9


@given(delays, st.floats(0.01, 0.99), st.floats(0, 8), st.floats(0, 60))
def test_the_depth_is_bounded(
    learned: list[float], risk: float, rate: float, remaining: float
) -> None:
    start = AdaptiveStart(risk=risk)
    for delay in learned:
        start.learn(delay)

    assert LEAST_START <= start.depth() <= MOST_START
    assert start.depth() <= start.depth(rate, remaining) <= MOST_START + MOST_REMAINING


@given(delays, st.floats(0, 5), st.floats(0, 5))
def test_an_utterance_that_needed_more_never_starts_the_next_one_earlier(
    learned: list[float], one: float, other: float
) -> None:
    less, more = AdaptiveStart(), AdaptiveStart()
    for delay in learned:
        less.learn(delay)
        more.learn(delay)
    less.learn(min(one, other))
    more.learn(max(one, other))

    assert less.depth() <= more.depth()
