import pytest

from legato.bench.metrics import Buckets, at_most, buckets_of

EXPOSITION = """\
# TYPE legato_loop_lag_seconds histogram
legato_loop_lag_seconds_bucket{le="0.002"} 90.0
legato_loop_lag_seconds_bucket{le="0.25"} 99.0
legato_loop_lag_seconds_bucket{le="0.5"} 99.0
legato_loop_lag_seconds_bucket{le="+Inf"} 100.0
legato_loop_lag_seconds_count 100.0
legato_first_audio_seconds_bucket{engine="tone",le="0.005"} 7.0
"""


def test_each_look_is_counted_in_one_bucket() -> None:
    assert buckets_of(EXPOSITION) == {0.002: 90, 0.25: 9, 0.5: 0, float("inf"): 1}


def test_a_server_without_the_metric_is_told() -> None:
    with pytest.raises(ValueError, match="nothing of its loop's lag"):
        buckets_of("legato_connections_active 1.0\n")


@pytest.mark.parametrize(
    ("share", "bound"), [(0.5, 0.002), (0.9, 0.002), (0.99, 0.25), (1.0, float("inf"))]
)
def test_a_percentile_is_the_bound_of_its_bucket(share: float, bound: float) -> None:
    assert at_most(buckets_of(EXPOSITION), share) == bound


def test_no_looks_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="not looked at"):
        at_most(Buckets(), 0.99)
