import pytest

from legato.bench.report import HEADINGS, cells, digits
from legato.bench.row import Figure


@pytest.mark.parametrize(
    ("value", "shown"),
    [(652, "652"), (2.0, "2"), (0.0, "0"), (1.874, "1.87"), (23.31, "23.3"), (123.4, "123")],
)
def test_three_digits_are_enough(value: float, shown: str) -> None:
    assert digits(value) == shown


def test_short_times_are_shown_in_milliseconds() -> None:
    row = Figure("speak.first_audio.p50", "s", 0.09).of([0.05, 0.0625, 0.0712])
    assert cells(row) == [
        "speak.first_audio.p50", "62.5 ms", "≤ 90", "ok", "3", "62.5", "71.2", "71.2", "21.2",
    ]  # fmt: skip


def test_a_row_keeps_one_unit() -> None:
    row = Figure("serve.ready", "s", 3.0).of([0.9])
    assert cells(row)[1:3] == ["0.90 s", "≤ 3"]


def test_a_row_without_a_value_has_empty_cells() -> None:
    row = Figure("session.frame", "us", 12.0).missing("no")
    assert cells(row) == ["session.frame", "", "≤ 12", "not measured", "", "", "", "", ""]
    assert len(cells(row)) == len(HEADINGS)


def test_micro_is_written_as_people_do() -> None:
    assert cells(Figure("session.frame", "us", 12.0).row(9.5))[1] == "9.50 µs"
