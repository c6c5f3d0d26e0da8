import asyncio
from collections.abc import Sequence

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row
from legato.bench.runner import MAX_REASON_CHARS, reason, run_all

FIGURE = Figure("some.figure", "s", 1.0)
SETUP = Setup(tell=lambda _: None)


async def good(setup: Setup) -> Sequence[Row]:
    return [FIGURE.row(0.5)]


async def broken(setup: Setup) -> Sequence[Row]:
    raise ExceptionGroup("group", [OSError("no\nserver")])


async def endless(setup: Setup) -> Sequence[Row]:
    await asyncio.Event().wait()
    return []


def benchmark(run: object, timeout: float = 5.0) -> Benchmark:
    return Benchmark(name="some", about="", figures=(FIGURE,), run=run, timeout=timeout)  # type: ignore[arg-type]  # one of the three above


async def test_one_that_fails_says_why_and_costs_the_others_nothing() -> None:
    begun: list[Benchmark] = []
    some = [benchmark(broken), benchmark(endless, timeout=0.001), benchmark(good)]
    rows = await run_all(some, SETUP, begin=begun.append)
    assert [(row.value, row.note) for row in rows] == [
        (None, "invalid: OSError: no server"),
        (None, "invalid: not done within 0.001 s"),
        (0.5, ""),
    ]
    assert begun == some


def test_a_long_reason_keeps_its_beginning_and_its_end() -> None:
    said = reason(RuntimeError(f"first {'x' * 2000} last"))
    assert said.startswith("RuntimeError: first x")
    assert said.endswith("x last")
    assert len(said) <= MAX_REASON_CHARS + 3
