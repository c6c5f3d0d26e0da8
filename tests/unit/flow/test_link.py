import math
from itertools import pairwise
from random import Random
from statistics import fmean
from typing import Any

import pytest

from legato.flow.link import (
    MAX_REPAIRS,
    PROFILES,
    Bottleneck,
    Conditions,
    Link,
    ReliableLink,
)
from legato.flow.loss import BurstLoss, Loss

MANY = 2000
EVERY = 0.02


def arrivals(link: Link, count: int = MANY, size: int = 100) -> list[float | None]:
    return [link.send(size, EVERY * number) for number in range(count)]


def delays(link: Link, count: int = MANY) -> list[float]:
    """Of those that arrive."""
    arrived = arrivals(link, count)
    return [at - EVERY * number for number, at in enumerate(arrived) if at is not None]


class Scripted(Random):
    """Draws what it is told, then only what is never lost."""

    def __init__(self, *draws: float) -> None:
        super().__init__(1)
        self._draws = list(draws)

    def random(self) -> float:
        return self._draws.pop(0) if self._draws else 0.999

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return mu


LOST, KEPT = 0.0, 0.999


# datagrams


def test_without_conditions_everything_arrives_at_once() -> None:
    assert arrivals(Link(Conditions(), Random(1)), 3) == [0.0, 0.02, 0.04]


def test_a_packet_takes_its_delay() -> None:
    assert Link(Conditions(delay=0.5), Random(1)).send(100, 2.0) == 2.5


@pytest.mark.parametrize("reorders", [False, True])
def test_delays_stay_within_the_jitter_and_use_it(reorders: bool) -> None:
    conditions = Conditions(delay=0.05, jitter=0.03, reorders=reorders)
    taken = delays(Link(conditions, Random(1)))
    assert min(taken) >= conditions.least_delay - 1e-9
    assert max(taken) <= 0.08 + 1e-9
    assert max(taken) - min(taken) > 0.04
    assert fmean(taken) == pytest.approx(0.05, abs=0.005)


def test_a_delay_is_never_negative() -> None:
    conditions = Conditions(delay=0.01, jitter=0.1, reorders=True)
    assert conditions.least_delay == 0.0
    assert min(delays(Link(conditions, Random(1)))) >= 0.0


def test_order_is_kept_unless_the_link_reorders() -> None:
    kept = arrivals(Link(Conditions(delay=0.1, jitter=0.1), Random(1)))
    assert kept == sorted(kept, key=lambda at: at or 0.0)
    mixed = arrivals(Link(Conditions(delay=0.1, jitter=0.1, reorders=True), Random(1)))
    assert mixed != sorted(mixed, key=lambda at: at or 0.0)


def test_jitter_that_keeps_order_changes_slowly() -> None:
    def step(**more: Any) -> float:
        taken = delays(Link(Conditions(delay=0.1, jitter=0.05, **more), Random(1)))
        return fmean(abs(one - other) for one, other in pairwise(taken))

    assert step() < step(reorders=True) / 2


def test_a_clock_that_stands_still_draws_no_new_delay() -> None:
    link = Link(Conditions(delay=0.1, jitter=0.05), Random(1))
    assert len({link.send(100, 1.0) for _ in range(9)}) == 1


def test_a_share_is_lost() -> None:
    lost = arrivals(Link(Conditions(loss=Loss(0.05)), Random(1))).count(None)
    assert lost / MANY == pytest.approx(0.05, abs=0.015)
    burst = BurstLoss(to_bad=1.0, to_good=0.0)
    assert set(arrivals(Link(Conditions(loss=burst), Random(1)))) == {None}


def test_packets_wait_for_their_turn() -> None:
    link = Link(Conditions(rate=8000.0, delay=0.1), Random(1))
    assert [link.send(100, 5.0) for _ in range(3)] == pytest.approx([5.2, 5.3, 5.4])


def test_what_finds_no_room_is_dropped_until_there_is_some() -> None:
    link = Link(Conditions(rate=8000.0, queue_bytes=250), Random(1))
    assert [link.send(100, 0.0) for _ in range(3)] == [0.1, 0.2, None]
    assert link.send(100, 0.15) == pytest.approx(0.3)


def test_nothing_arrives_while_it_is_frozen() -> None:
    link = Link(Conditions(delay=0.1), Random(1))
    link.freeze(1.0, 2.0)
    link.freeze(3.0, 4.0)
    sent = [0.5, 0.95, 1.5, 1.95, 2.95, 3.9]
    assert [link.send(100, at) for at in sent] == pytest.approx([0.6, 2.0, 2.0, 2.05, 4.0, 4.0])
    assert link.send(100, 5.0) == 5.1


# the slowest link on the way


def test_a_rate_may_change_with_time() -> None:
    line = Bottleneck(((1.0, 800.0), (1.0, 0.0)))
    assert line.serve(50, 0.0) == 0.5
    assert line.serve(100, 0.0) == pytest.approx(2.5)  # half of it behind the second without
    assert line.waiting(0.0) == 150
    assert line.waiting(0.5) == 100
    assert line.serve(300, 3.7) == pytest.approx(8.0 + 1.0)


def test_a_trace_goes_on_from_any_instant() -> None:
    line = Bottleneck(((0.1, 8000.0), (0.2, 0.0)))
    at = math.nextafter(0.3, 0.0)
    assert line.serve(1, at) == pytest.approx(0.301)


def test_a_large_packet_on_a_thin_line_is_computed_at_once() -> None:
    assert Bottleneck(((1e-6, 8.0), (1e-6, 0.0))).serve(10**6, 0.0) == pytest.approx(2e6)


def test_nothing_takes_no_time() -> None:
    assert Bottleneck(((1.0, 0.0), (1.0, 8.0))).serve(0, 0.5) == 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"delay": -1.0},
        {"jitter": -1.0},
        {"delay": math.inf},
        {"rate": 0.0},
        {"rate": math.nan},
        {"rate": ()},
        {"rate": ((0.0, 5.0),)},
        {"rate": ((1.0, -5.0), (1.0, 5.0))},
    ],
)
def test_conditions_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="0"):
        Conditions(**wrong)


# a byte stream


def stream(*draws: float, rng: Random | None = None, **more: Any) -> ReliableLink:
    conditions = Conditions(loss=Loss(0.5), delay=0.1, **more)
    return ReliableLink(conditions, rng or Scripted(*draws))


def test_a_segment_that_is_not_lost_takes_its_delay() -> None:
    assert stream(KEPT).send(100, 1.0) == 1.1


def test_a_loss_shows_as_a_round_trip_and_a_quarter() -> None:
    assert stream(LOST, KEPT).send(100, 1.0) == pytest.approx(1.1 + 0.25)


def test_what_is_behind_a_loss_waits_for_it() -> None:
    link = stream(LOST, KEPT, KEPT)
    assert link.send(100, 1.0) == link.send(100, 1.02) == pytest.approx(1.35)


def test_a_second_loss_waits_for_the_timeout_and_a_third_twice_as_long() -> None:
    link = stream(KEPT, LOST, LOST, LOST, KEPT)
    link.send(100, 0.0)  # a round trip of 0.2 s: the timeout is 0.2 + 4 * 0.1
    assert link.send(100, 1.0) == pytest.approx(1.1 + 0.25 + 0.6 + 1.2)


def test_the_way_back_may_take_another_time() -> None:
    link = ReliableLink(
        Conditions(loss=Loss(0.5), delay=0.1), Scripted(LOST, KEPT), return_delay=0.3
    )
    assert link.send(100, 1.0) == pytest.approx(1.1 + 0.5)


def test_a_connection_on_which_nothing_passes_is_given_up() -> None:
    link = stream(*[LOST] * (MAX_REPAIRS + 1))
    assert link.send(100, 1.0) == math.inf
    assert link.send(100, 2.0) == math.inf


def test_a_byte_stream_is_in_order_and_whole_whatever_the_link_does() -> None:
    link = stream(rng=Random(1), jitter=0.1, reorders=True, rate=1e5, queue_bytes=1)
    arrived = arrivals(link)
    assert None not in arrived
    assert arrived == sorted(arrived, key=lambda at: at or 0.0)


# profiles


@pytest.mark.parametrize(
    ("name", "round_trip", "jitter", "share"),
    [
        ("good", 0.010, 0.005, 0.0),
        ("lossy", 0.050, 0.030, 0.05),
        ("very_bad", 0.200, 0.100, 0.15),
        ("3g", 0.100, 0.100, 0.01),
    ],
)
def test_a_profile_is_half_of_the_round_trip_each_way(
    name: str, round_trip: float, jitter: float, share: float
) -> None:
    profile = PROFILES[name]
    both = (profile.up, profile.down)
    assert sum(one.delay for one in both) == pytest.approx(round_trip)
    assert sum(one.jitter for one in both) == pytest.approx(jitter)
    assert [one.loss.share for one in both] == [share, share]


def test_only_3g_has_a_rate() -> None:
    assert {name: profile.up.rate for name, profile in PROFILES.items()} == {
        "good": math.inf,
        "lossy": math.inf,
        "very_bad": math.inf,
        "3g": 384e3,
    }
