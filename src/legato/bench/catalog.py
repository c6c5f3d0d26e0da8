"""Every benchmark, in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence

from legato.bench import (
    cancelling,
    crowd,
    echo,
    freeing,
    idle,
    idle_crowd,
    listeners,
    listening,
    overhead,
    reading_growth,
    ready,
    resume,
    resume_crowd,
    rivals,
    second_process,
    session_frame,
    soak,
    speakers,
    speaking,
    wire,
    wire_codecs,
    worker_loss,
)
from legato.bench.benchmark import Benchmark


class UnknownBenchmark(ValueError):
    """A name means no benchmark."""


ALL: tuple[Benchmark, ...] = (
    *ready.BENCHMARKS,
    *second_process.BENCHMARKS,
    *speaking.BENCHMARKS,
    *speakers.BENCHMARKS,
    *listening.BENCHMARKS,
    *listeners.BENCHMARKS,
    *cancelling.BENCHMARKS,
    *freeing.BENCHMARKS,
    *overhead.BENCHMARKS,
    *resume.BENCHMARKS,
    *resume_crowd.BENCHMARKS,
    *worker_loss.BENCHMARKS,
    *session_frame.BENCHMARKS,
    *echo.BENCHMARKS,
    *crowd.BENCHMARKS,
    *rivals.BENCHMARKS,
    *idle.BENCHMARKS,
    *idle_crowd.BENCHMARKS,
    *wire.BENCHMARKS,
    *wire_codecs.BENCHMARKS,
    *reading_growth.BENCHMARKS,
    *soak.BENCHMARKS,
)


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks that are meant, in their order; for no name all but `named_only`.

    Raises:
        UnknownBenchmark: If a name means none.
    """
    for name in names:
        if not any(benchmark.is_meant_by(name) for benchmark in ALL):
            known = ", ".join(benchmark.name for benchmark in ALL)
            raise UnknownBenchmark(f"no benchmark is called {name!r}; there are {known}")
    if not names:
        return [one for one in ALL if not one.named_only]
    return [one for one in ALL if any(map(one.is_meant_by, names))]
