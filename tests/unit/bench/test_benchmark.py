from collections.abc import Sequence

import pytest

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row


async def nothing(setup: Setup) -> Sequence[Row]:
    return []


ECHO = Benchmark(
    name="echo.cpu",
    about="Cost.",
    figures=(Figure("echo.cpu.vs_bare", "x", 2.0), Figure("echo.cpu.bare", "us")),
    run=nothing,
)


@pytest.mark.parametrize("name", ["echo", "echo.cpu", "echo.cpu.vs_bare"])
def test_a_benchmark_is_meant_by_its_name_a_row_or_a_beginning(name: str) -> None:
    assert ECHO.is_meant_by(name)


@pytest.mark.parametrize("name", ["", "ech", "cpu", "echo.latency", "echo.cpu.vs"])
def test_half_a_word_means_nothing(name: str) -> None:
    assert not ECHO.is_meant_by(name)


def test_without_a_result_every_row_says_why() -> None:
    rows = ECHO.missing("no time")
    assert [(row.name, row.value, row.note) for row in rows] == [
        ("echo.cpu.vs_bare", None, "no time"),
        ("echo.cpu.bare", None, "no time"),
    ]


@pytest.mark.parametrize(("quick", "times"), [(False, 20), (True, 2)])
def test_a_quick_run_repeats_less(quick: bool, times: int) -> None:
    assert Setup(quick=quick, tell=lambda _: None).times(20, 2) == times
