import math

import pytest

from legato.flow.pacing import Lead, TokenBucket


def test_a_new_bucket_is_full() -> None:
    bucket = TokenBucket(rate=100, burst=500)

    assert bucket.available(now=0.0) == 500
    assert bucket.take(500, now=0.0)
    assert bucket.available(now=0.0) == 0


def test_an_empty_bucket_refills_at_its_rate() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(500, now=10.0)

    assert bucket.ready_at(50, now=10.0) == 10.5
    assert not bucket.take(50, now=10.4)
    assert bucket.take(50, now=10.5)


def test_a_refused_take_takes_nothing() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(500, now=0.0)

    for _ in range(10):
        assert not bucket.take(100, now=0.5)

    assert bucket.ready_at(100, now=0.5) == 1.0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(500, now=0.0)

    assert bucket.available(now=1000.0) == 500
    assert bucket.take(500, now=1000.0)
    assert not bucket.take(1, now=1000.0)


def test_what_never_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="501 never fits a bucket of 500"):
        TokenBucket(rate=100, burst=500).take(501, now=0.0)


def test_rate_zero_stops() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(200, now=0.0)
    bucket.set_rate(0, now=0.0)

    assert bucket.rate == 0
    assert bucket.ready_at(1, now=5.0) == math.inf
    assert not bucket.take(1, now=1e6)


def test_a_stopped_bucket_keeps_what_it_held() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(400, now=0.0)
    bucket.set_rate(0, now=1.0)

    assert bucket.available(now=50.0) == 200
    bucket.set_rate(50, now=100.0)

    assert bucket.available(now=100.0) == pytest.approx(200)
    assert bucket.available(now=101.0) == pytest.approx(250)


def test_a_bucket_that_begins_stopped_begins_full() -> None:
    bucket = TokenBucket(rate=0, burst=500)
    bucket.set_rate(10, now=3.0)

    assert bucket.take(500, now=3.0)


def test_a_stopped_bucket_can_still_be_spent_from() -> None:
    bucket = TokenBucket(rate=0, burst=500)
    bucket.spend(700, now=0.0)

    assert bucket.available(now=0.0) == -200
    bucket.set_rate(100, now=0.0)
    assert bucket.ready_at(0, now=0.0) == pytest.approx(2.0)


def test_a_new_rate_keeps_what_was_held_and_counts_from_now() -> None:
    bucket = TokenBucket(rate=100, burst=500)
    bucket.take(500, now=0.0)
    bucket.set_rate(10, now=2.0)

    assert bucket.available(now=2.0) == pytest.approx(200)
    assert bucket.available(now=3.0) == pytest.approx(210)


def test_an_infinite_rate_lets_everything_pass() -> None:
    bucket = TokenBucket(rate=math.inf, burst=500)

    assert all(bucket.take(500, now=0.0) for _ in range(100))
    assert bucket.available(now=0.0) == 500
    bucket.set_rate(100, now=0.0)
    assert bucket.take(500, now=0.0)
    assert bucket.ready_at(500, now=0.0) == pytest.approx(5.0)


def test_a_rate_too_slow_to_ever_fill_the_bucket_counts_as_stopped() -> None:
    bucket = TokenBucket(rate=1e-320, burst=500)

    assert bucket.rate == 0
    assert bucket.ready_at(1, now=0.0) == math.inf


@pytest.mark.parametrize("rate", [-1, -math.inf, math.nan])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    bucket = TokenBucket(rate=1, burst=1)

    with pytest.raises(ValueError, match="rate must be 0 or more"):
        TokenBucket(rate=rate, burst=1)
    with pytest.raises(ValueError, match="rate must be 0 or more"):
        bucket.set_rate(rate, now=0.0)
    assert bucket.rate == 1


@pytest.mark.parametrize("burst", [0, -1, math.inf, math.nan])
def test_a_burst_that_is_none_is_refused(burst: float) -> None:
    with pytest.raises(ValueError, match="burst must be above 0"):
        TokenBucket(rate=1, burst=burst)


FRAME = 0.02


def frames_sent(lead: Lead, now: float) -> int:
    count = 0
    while lead.take(FRAME, now):
        count += 1
    return count


def test_audio_runs_ahead_by_the_lead_at_once() -> None:
    lead = Lead()

    assert (lead.lead, lead.rate) == (2.0, 1.5)
    assert lead.available(now=0.0) == 2.0
    assert frames_sent(lead, now=0.0) in (
        99,
        100,
    )  # a sum of floats may miss the last one by an ulp


def test_after_the_lead_audio_goes_at_the_rate() -> None:
    lead = Lead(lead=2.0, rate=1.5)
    total = frames_sent(lead, now=0.0)
    for tick in range(1, 1001):
        total += frames_sent(lead, now=tick * 0.01)

    assert total * FRAME == pytest.approx(2.0 + 1.5 * 10.0, abs=2 * FRAME)


def test_after_a_pause_audio_runs_ahead_again() -> None:
    lead = Lead()
    frames_sent(lead, now=0.0)

    assert frames_sent(lead, now=60.0) in (99, 100)


def test_flow_control_zero_stops_audio_until_the_next() -> None:
    lead = Lead()
    frames_sent(lead, now=0.0)
    lead.set_rate(0, now=0.0)

    assert lead.available(now=30.0) == 0
    assert lead.ready_at(FRAME, now=30.0) == math.inf
    lead.set_rate(1.0, now=30.0)
    assert lead.ready_at(FRAME, now=30.0) == pytest.approx(30.0 + FRAME, abs=FRAME)


def test_a_frame_longer_than_the_lead_goes_and_is_waited_for() -> None:
    lead = Lead(lead=0.1, rate=1.0)

    assert lead.take(0.2, now=0.0)
    assert lead.available(now=0.0) == pytest.approx(-0.1)
    assert lead.ready_at(0.2, now=0.0) == pytest.approx(0.2)
    assert not lead.take(0.2, now=0.1)
    assert lead.take(0.2, now=0.201)
