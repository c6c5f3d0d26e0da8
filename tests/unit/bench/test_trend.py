import random

import pytest

from legato.bench.trend import SIGNIFICANT, score, slope


def test_the_slope_of_a_line_is_its_slope() -> None:
    assert slope([0, 250, 500, 1000], [7, 507, 1007, 2007]) == 2.0


def test_one_jump_makes_no_slope() -> None:
    assert slope(range(20), [100.0] * 10 + [900.0] + [100.0] * 9) == 0


def test_a_slope_needs_two_readings() -> None:
    with pytest.raises(ValueError, match="two readings"):
        slope([1], [1])


def test_a_steady_rise_is_significant() -> None:
    assert score(range(20)) > 6
    assert score(range(20, 0, -1)) < -6


def test_what_does_not_move_says_nothing() -> None:
    assert score([5.0] * 30) == 0
    assert score([5.0]) == 0


def test_noise_is_not_significant_more_often_than_it_says() -> None:
    rng = random.Random(3)
    series = ([rng.random() for _ in range(40)] for _ in range(400))
    assert 0.02 < sum(score(one) > SIGNIFICANT for one in series) / 400 < 0.08


def test_a_leak_under_noise_is_found() -> None:
    rng = random.Random(5)
    readings = [0.05 * number + rng.random() for number in range(40)]
    assert score(readings) > SIGNIFICANT
    assert slope(range(40), readings) == pytest.approx(0.05, abs=0.02)
