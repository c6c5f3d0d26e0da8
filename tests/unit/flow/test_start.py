import json
import math
from pathlib import Path
from typing import TypedDict

import pytest

from legato.flow.start import (
    CAREFUL_RISK,
    ENOUGH_RATE,
    LEAD_START,
    LEAST_START,
    MEMORY,
    MOST_DELAY,
    MOST_REMAINING,
    MOST_START,
    PACED_START,
    RATE_AFTER,
    RISK,
    AdaptiveStart,
    Arrivals,
)

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "start.json").read_text(encoding="utf-8")
)
RATE = 16_000
FRAME = 320
TICK = FRAME / RATE


class Utterance(TypedDict):
    """What came when, and what follows from it."""

    arrivals: list[tuple[int, float]]
    depths: list[float]
    required_delay: float
    rate: float | None
    depth: float


class Case(TypedDict):
    """Utterances in turn."""

    lead: bool
    round_trip: float
    risk: float
    before: float
    utterances: list[Utterance]


def arrivals_of(*instants: float) -> Arrivals:
    arrivals = Arrivals(RATE)
    for number, now in enumerate(instants):
        arrivals.add(number * FRAME, now)
    return arrivals


def taught(*delays: float, risk: float = RISK) -> AdaptiveStart:
    start = AdaptiveStart(lead=True, risk=risk)
    for delay in delays:
        start.learn(delay)
    return start


def test_frames_in_time_need_no_delay() -> None:
    assert arrivals_of(5.0, 5.0 + TICK, 5.0 + 2 * TICK).required_delay == pytest.approx(0.0)


def test_frames_ahead_need_no_delay() -> None:
    assert arrivals_of(5.0, 5.0, 5.001).required_delay == 0.0


def test_the_latest_frame_decides() -> None:
    late = arrivals_of(5.0, 5.0 + TICK + 0.2, 5.0 + 2 * TICK + 0.2, 5.0 + 3 * TICK)

    assert late.required_delay == pytest.approx(0.2)


def test_each_utterance_is_measured_by_itself() -> None:
    arrivals = arrivals_of(5.0, 6.0)
    arrivals.finish()
    assert arrivals.required_delay == pytest.approx(1.0 - TICK)

    arrivals.add(9 * FRAME, 60.0)

    assert arrivals.required_delay == 0.0
    assert arrivals.rate == math.inf


def test_the_rate_is_unknown_at_first() -> None:
    assert arrivals_of(0.0, RATE_AFTER - 0.001).rate == math.inf


def test_the_rate_is_audio_per_second() -> None:
    assert arrivals_of(0.0, TICK, RATE_AFTER, 0.3).rate == pytest.approx(3 * TICK / 0.3)


def test_a_frame_before_the_first_one_is_no_audio() -> None:
    arrivals = Arrivals(RATE)
    arrivals.add(FRAME, 0.0)
    arrivals.add(0, 1.0)

    assert arrivals.rate == 0.0


@pytest.mark.parametrize(
    ("lead", "round_trip", "depth"),
    [(True, 0.3, LEAD_START), (False, 0.0, PACED_START), (False, 0.1, PACED_START + 0.1)],
)
def test_the_first_guess(lead: bool, round_trip: float, depth: float) -> None:
    start = AdaptiveStart(lead=lead, round_trip=round_trip)

    assert start.depth() == pytest.approx(depth)


@pytest.mark.parametrize("risk", [0.0, 1.0, -1.0, math.nan])
def test_a_risk_that_is_no_share_is_refused(risk: float) -> None:
    with pytest.raises(ValueError, match="risk"):
        AdaptiveStart(risk=risk)


@pytest.mark.parametrize("round_trip", [-0.1, math.inf, math.nan])
def test_an_impossible_round_trip_is_refused(round_trip: float) -> None:
    with pytest.raises(ValueError, match="round_trip"):
        AdaptiveStart(round_trip=round_trip)


def test_one_utterance_weighs_as_much_as_half_the_guess() -> None:
    start = taught(0.3)

    assert start.depth() == pytest.approx((2 * LEAD_START + math.log(1 / RISK) * 0.3) / 3)


def test_the_start_settles_where_the_delay_is_exceeded_with_the_risk() -> None:
    delays = [0.3] * 500
    weight = 1 / (1 - MEMORY)
    settled = 0.3 * weight / (weight + 2)
    guess = LEAD_START * 2 / (weight + 2)

    assert taught(*delays).depth() == pytest.approx(settled * math.log(1 / RISK) + guess)
    assert taught(*delays, risk=CAREFUL_RISK).depth() > taught(*delays).depth()


def test_an_outage_counts_for_two_seconds() -> None:
    assert taught(60.0).depth() == taught(MOST_DELAY).depth()
    assert taught(-1.0).depth() == taught(0.0).depth()


def test_the_start_stays_within_bounds() -> None:
    assert taught(*[0.0] * 100).depth() == LEAST_START
    assert taught(*[9.0] * 100).depth() == MOST_START


def test_a_slow_link_is_held_back_for_what_it_will_fall_behind() -> None:
    start = AdaptiveStart(lead=True)

    assert start.depth(0.47, 2.0) == pytest.approx(LEAD_START + (ENOUGH_RATE - 0.47) * 2.0)
    assert start.depth(0.47) == pytest.approx(LEAD_START + 0.5 * MOST_REMAINING)
    assert start.depth(0.47, -1.0) == LEAD_START
    assert start.depth(ENOUGH_RATE, 2.0) == LEAD_START


@pytest.mark.parametrize("case", VECTORS["cases"])
def test_vectors(case: Case) -> None:
    start = AdaptiveStart(lead=case["lead"], round_trip=case["round_trip"], risk=case["risk"])
    assert start.depth() == pytest.approx(case["before"], rel=1e-12)

    for utterance in case["utterances"]:
        arrivals = Arrivals(VECTORS["sample_rate"])
        depths = []
        for sample, now in utterance["arrivals"]:
            arrivals.add(sample, now)
            depths.append(start.depth(arrivals.rate))
        start.learn(arrivals.required_delay)
        assert depths == pytest.approx(utterance["depths"], rel=1e-12)
        assert arrivals.required_delay == pytest.approx(utterance["required_delay"], rel=1e-12)
        assert (None if arrivals.rate == math.inf else arrivals.rate) == utterance["rate"]
        assert start.depth() == pytest.approx(utterance["depth"], rel=1e-12)


@pytest.mark.parametrize("case", VECTORS["guarded"])
def test_guard_vectors(case: dict[str, float]) -> None:
    depth = AdaptiveStart().depth(case["rate"], case["remaining"])

    assert depth == pytest.approx(case["depth"], rel=1e-12)
