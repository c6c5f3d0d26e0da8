import pytest

from legato.bench.row import Figure, Row, percentile

LATENCY = Figure("echo.latency.p99", "s", 0.01)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50.5), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)]
)
def test_a_percentile_is_the_median_or_the_nearest_rank(share: float, expected: float) -> None:
    assert percentile([float(n) for n in range(100, 0, -1)], share) == expected


def test_the_only_sample_is_every_percentile() -> None:
    assert {percentile([7.0], share) for share in (0.5, 0.95, 0.99)} == {7.0}


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 0.99)


def test_a_row_of_samples_tells_how_they_scatter() -> None:
    row = LATENCY.of([0.001, 0.002, 0.009], 0.99, note="three")
    assert (row.value, row.n, row.p50, row.p95, row.p99) == (0.009, 3, 0.002, 0.009, 0.009)
    assert row.spread == pytest.approx(0.008)
    assert (row.name, row.unit, row.bound, row.note) == ("echo.latency.p99", "s", 0.01, "three")


@pytest.mark.parametrize(
    ("row", "ok", "verdict"),
    [
        (LATENCY.row(0.01), True, "ok"),
        (LATENCY.row(0.0101), False, "not reached"),
        (LATENCY.row(0.0101, bound=0.02), True, "ok"),
        (LATENCY.missing("no server"), None, "not measured"),
        (Figure("wire.bytes", "B").row(652), None, ""),
        (Figure("wire.bytes", "B").missing("no time"), None, "not measured"),
        (Figure("echo.latency.lost", "frames", 0).row(0), True, "ok"),
    ],
)
def test_only_a_value_within_its_bound_is_ok(row: Row, ok: bool | None, verdict: str) -> None:
    assert row.ok is ok
    assert row.verdict == verdict


def test_a_row_for_programs_has_every_field_of_the_contract() -> None:
    told = LATENCY.of([0.004]).as_json("2 cores")
    assert list(told) == [
        "name", "value", "unit", "bound", "ok", "n", "p50", "p95", "p99", "spread", "machine",
        "note",
    ]  # fmt: skip
    assert (told["value"], told["ok"], told["machine"]) == (0.004, True, "2 cores")


def test_a_missing_row_for_programs_has_neither_value_nor_judgement() -> None:
    told = LATENCY.missing("no server").as_json("2 cores")
    assert (told["value"], told["ok"], told["note"]) == (None, None, "no server")
