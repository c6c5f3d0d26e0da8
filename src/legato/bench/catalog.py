"""Every benchmark, in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence

from legato.bench import (
    cancelling,
    echo,
    idle,
    listening,
    ready,
    session_frame,
    speaking,
    wire,
)
from legato.bench.benchmark import Benchmark


class UnknownBenchmark(ValueError):
    """A name means no benchmark."""


ALL: tuple[Benchmark, ...] = (
    *ready.BENCHMARKS,
    *speaking.BENCHMARKS,
    *listening.BENCHMARKS,
    *cancelling.BENCHMARKS,
    *session_frame.BENCHMARKS,
    *echo.BENCHMARKS,
    *idle.BENCHMARKS,
    *wire.BENCHMARKS,
)


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks that are meant, in their order; all of them for no name.

    Raises:
        UnknownBenchmark: If a name means none.
    """
    for name in names:
        if not any(benchmark.is_meant_by(name) for benchmark in ALL):
            known = ", ".join(benchmark.name for benchmark in ALL)
            raise UnknownBenchmark(f"no benchmark is called {name!r}; there are {known}")
    return [one for one in ALL if not names or any(map(one.is_meant_by, names))]
