"""What a further engine process of one engine costs, in memory and in speed."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row
from legato.bench.speaking import SENTENCES

RUNS = 60

HIBARI = Figure("worker.second_process.hibari", "of the first", 0.30)
MOONSHINE = Figure("worker.second_process.moonshine", "of the first", 0.30)
SLOWDOWN = Figure("worker.second_process.slowdown", "times", 1.05)


async def measure(setup: Setup) -> list[Row]:
    """Have both engines' processes weighed at work, by a program of the worker's.

    Raises:
        RuntimeError: If that fails; engine processes share weights on Linux only.
    """
    setup.tell("hibari and moonshine")
    weighing = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.worker.weighing",
        str(setup.times(RUNS, 3)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await weighing.communicate(json.dumps(SENTENCES).encode())
    if weighing.returncode:
        raise RuntimeError(f"weighing ended with {weighing.returncode}")
    found = json.loads(printed)
    return [
        _share(HIBARI, *found["hibari"]),
        _share(MOONSHINE, *found["moonshine"]),
        _slowdown(found["took"]),
    ]


def _share(figure: Figure, first: float, one: float, two: float) -> Row:
    """Say what the second process adds, as a share of the first; all in MiB."""
    note = (
        f"MiB: RSS of the first {first:.0f}; PSS with its template {one:.0f}, with a second process"
        f" {two:.0f}; each has worked"
    )
    return figure.row((two - one) / first, n=2, note=note)


def _slowdown(took: list[tuple[float, float]]) -> Row:
    alone, shared = (statistics.median(times) for times in zip(*took, strict=True))
    note = (
        "forked process against one of its own weights, sentence by sentence of 21 words, by"
        f" turns; medians {shared * 1e3:.1f} against {alone * 1e3:.1f} ms"
    )
    # Pair by pair: other work on the machine hits both.
    return SLOWDOWN.of([two / one for one, two in took], note=note)


BENCHMARKS = (
    Benchmark(
        name="worker.second_process",
        about="Memory that a second engine process adds, both at work, and what sharing costs.",
        figures=(HIBARI, MOONSHINE, SLOWDOWN),
        run=measure,
        served=False,
    ),
)
