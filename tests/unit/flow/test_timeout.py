import pytest

from legato.flow.timeout import FIRST, LEAST, MOST, RetransmissionTimer


def timer(*round_trips: float) -> RetransmissionTimer:
    made = RetransmissionTimer()
    for round_trip in round_trips:
        made.measure(round_trip)
    return made


def test_before_a_round_trip_was_measured_it_is_a_second() -> None:
    assert timer().timeout == FIRST == 1.0


def test_the_first_round_trip_counts_three_times() -> None:
    assert timer(0.5).timeout == pytest.approx(1.5)  # RFC 6298 §2.2: R + 4 * R / 2


def test_later_ones_are_smoothed() -> None:
    # §2.3: RTTVAR = 3/4 * 0.2 + 1/4 * |0.4 - 0.8| = 0.25; SRTT = 7/8 * 0.4 + 1/8 * 0.8 = 0.45
    assert timer(0.4, 0.8).timeout == pytest.approx(0.45 + 4 * 0.25)


def test_it_stays_within_its_bounds() -> None:
    assert timer(0.001).timeout == LEAST
    assert timer(1000.0).timeout == MOST


def test_it_doubles_up_to_its_bound() -> None:
    assert RetransmissionTimer.doubled(0.2) == 0.4
    assert RetransmissionTimer.doubled(50.0) == MOST
