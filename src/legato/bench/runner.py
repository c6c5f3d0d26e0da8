"""A run of some benchmarks: each bounded in time, and one that fails costs the others nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Row

MAX_REASON_CHARS = 500


async def run_all(
    benchmarks: Sequence[Benchmark], setup: Setup, *, begin: Callable[[Benchmark], None]
) -> list[Row]:
    """Run benchmarks one after the other.

    Args:
        benchmarks: Which.
        setup: Conditions.
        begin: Called before each one.
    """
    rows: list[Row] = []
    for benchmark in benchmarks:
        begin(benchmark)
        rows.extend(await run_one(benchmark, setup))
    return rows


async def run_one(benchmark: Benchmark, setup: Setup) -> list[Row]:
    """Run one benchmark; if it does not come to its end, its rows say why."""
    try:
        async with asyncio.timeout(benchmark.timeout):
            return list(await benchmark.run(setup))
    except TimeoutError:
        return benchmark.missing(f"invalid: not done within {benchmark.timeout:g} s")
    except Exception as error:  # noqa: BLE001  top of a benchmark: the others are still run
        return benchmark.missing(f"invalid: {reason(error)}")


def reason(error: BaseException) -> str:
    """Return why in one line, looking into groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    sentence = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if len(sentence) <= MAX_REASON_CHARS:
        return sentence
    # What a program said last tells most.
    half = MAX_REASON_CHARS // 2
    return f"{sentence[:half]} … {sentence[-half:]}"
