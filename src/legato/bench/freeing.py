"""Cancel to free slot, measured where the slot is: between a worker and its engine's process."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Final

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row

RUNS: Final = 30
TIMEOUT: Final = 90.0

WAITING: Final = Figure("cancel.freed.waiting", "s", 0.050)
WORKING: Final = Figure("cancel.freed.working", "s", 0.200)


async def measure(setup: Setup) -> list[Row]:
    """Have calls cancelled by a program of the worker's.

    Raises:
        RuntimeError: If that fails.
    """
    setup.tell("hibari")
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.worker.freeing",
        str(setup.times(RUNS, 3)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            printed, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    if program.returncode:
        raise RuntimeError(f"the cancelling of calls ended with {program.returncode}")
    found = json.loads(printed)
    return rows(found["waiting"], found["working"])


def rows(waiting: Sequence[float], working: Sequence[float]) -> list[Row]:
    """Make the rows; the slowest cancel is held against the bound."""
    note = "slowest of all; from the cancel of a call to its free slot, hibari, while the call"
    return [
        WAITING.of(waiting, 1.0, note=f"{note} waits for its listener"),
        WORKING.of(working, 1.0, note=f"{note} speaks: the network must finish its piece"),
    ]


BENCHMARKS = (
    Benchmark(
        name="cancel.freed",
        about="Cancel of an engine call to its free slot.",
        figures=(WAITING, WORKING),
        run=measure,
        served=False,
    ),
)
