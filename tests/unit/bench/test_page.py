import pytest

from legato.bench.page import BEGIN, END, NoMarkers, table_of, with_table
from legato.bench.row import Figure

PAGE = f"# Benchmarks\n\n{BEGIN}\nold\n{END}\n\nThe rest.\n"


def test_only_what_is_between_the_markers_is_replaced() -> None:
    page = with_table(PAGE, "new\n\n")
    assert page == f"# Benchmarks\n\n{BEGIN}\nnew\n{END}\n\nThe rest.\n"
    assert with_table(page, "new") == page


@pytest.mark.parametrize(
    "page",
    [
        "",
        f"{BEGIN}\n",
        f"{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n{END}\n{END}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
    ],
)
def test_a_page_without_one_place_for_the_table_is_refused(page: str) -> None:
    with pytest.raises(NoMarkers, match="bench: begin"):
        with_table(page, "new")


def test_the_table_says_what_was_typed_where_and_when() -> None:
    rows = [
        Figure("session.frame", "us", 12.0).of([9.0, 10.0], note="pure"),
        Figure("idle.memory", "KiB", 40.0).row(55.5, note="a < b | c"),
        Figure("echo.cpu.vs_pipecat", "x", 0.5).missing("not installed"),
        Figure("wire.protobuf.bytes.640", "B").row(652),
    ]
    table = table_of(rows, command="make bench", machine="2 cores", date="2026-12-01")
    assert table.splitlines() == [
        "`make bench`, 2026-12-01, on 2 cores.",
        "",
        "| row | value | bound | verdict | n | p50 | p95 | p99 | spread |",
        "|---|---|---|---|---|---|---|---|---|",
        "| `session.frame` | 9.50 µs | ≤ 12 | ok | 2 | 9.50 | 10 | 10 | 1 |",
        "| `idle.memory` | 55.5 KiB | ≤ 40 | **not reached** | 1 |  |  |  |  |",
        "| `echo.cpu.vs_pipecat` |  | ≤ 0.50 | **not measured** |  |  |  |  |  |",
        "| `wire.protobuf.bytes.640` | 652 B |  |  | 1 |  |  |  |  |",
        "",
        "- `session.frame`: pure",
        "- `idle.memory`: a &lt; b \\| c",
        "- `echo.cpu.vs_pipecat`: not installed",
    ]
