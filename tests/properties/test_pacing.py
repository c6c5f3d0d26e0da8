import math

from hypothesis import given
from hypothesis import strategies as st

from legato.flow.pacing import Lead, TokenBucket

BURST = 500.0

rates = st.floats(min_value=0.01, max_value=1e6)
any_rates = st.one_of(st.just(0.0), st.just(math.inf), rates)
waits = st.floats(min_value=0, max_value=1e4)
sizes = st.floats(min_value=0.001, max_value=BURST)
steps = st.lists(st.tuples(waits, sizes), max_size=30)


@given(rate=rates, steps=steps)
def test_ready_at_keeps_its_promise(rate: float, steps: list[tuple[float, float]]) -> None:
    bucket, now = TokenBucket(rate, BURST), 0.0
    for wait, size in steps:
        now = bucket.ready_at(size, now + wait)
        assert bucket.take(size, now)


@given(rate=rates, steps=steps)
def test_nothing_may_go_before_it_is_ready(rate: float, steps: list[tuple[float, float]]) -> None:
    bucket, now = TokenBucket(rate, BURST), 0.0
    for wait, size in steps:
        now += wait
        ready = bucket.ready_at(size, now)
        assert ready >= now
        assert bucket.take(size, now) == (ready == now)


@given(rate=rates, steps=steps)
def test_no_more_passes_than_burst_and_rate_allow(
    rate: float, steps: list[tuple[float, float]]
) -> None:
    bucket, now, passed = TokenBucket(rate, BURST), 0.0, 0.0
    for wait, size in steps:
        now += wait
        passed += size if bucket.take(size, now) else 0.0
        assert passed <= (BURST + rate * now) * (1 + 1e-6)


@given(
    first=any_rates,
    steps=st.lists(st.tuples(waits, sizes, any_rates), max_size=30),
)
def test_a_change_of_rate_neither_gives_nor_takes(
    first: float, steps: list[tuple[float, float, float]]
) -> None:
    bucket, now = TokenBucket(first, BURST), 0.0
    for wait, size, rate in steps:
        now += wait
        bucket.take(size, now)
        held = bucket.available(now)
        bucket.set_rate(rate, now)
        if rate != math.inf:
            assert math.isclose(bucket.available(now), held, rel_tol=1e-6, abs_tol=1e-2)
        assert bucket.available(now) <= BURST


@given(
    rate=st.floats(min_value=0.1, max_value=4),
    lead=st.floats(min_value=0.1, max_value=5),
    steps=st.lists(
        st.tuples(st.floats(min_value=0, max_value=3), st.floats(min_value=0.005, max_value=0.4)),
        max_size=60,
    ),
)
def test_audio_is_never_further_ahead_than_lead_rate_and_one_frame(
    rate: float, lead: float, steps: list[tuple[float, float]]
) -> None:
    pace, now, sent = Lead(lead, rate), 0.0, 0.0
    for wait, duration in steps:
        now += wait
        sent += duration if pace.take(duration, now) else 0.0
        assert sent <= lead + rate * now + max(0.0, 0.4 - lead) + 1e-6
