"""How long `legato serve` takes until it can be used."""

from __future__ import annotations

import asyncio
import urllib.request

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.process import Running, ServerFailed, legato_server
from legato.bench.row import Figure, Row

STARTS = 7
READY = Figure("serve.ready", "s", 3.0)


async def measure(setup: Setup) -> list[Row]:
    """Start the server several times, after a first start that is not counted."""
    starts = setup.times(STARTS)
    took = []
    for number in range(starts + 1):
        setup.tell(f"start {number} of {starts}" if number else "first start, not counted")
        async with legato_server() as running:
            await asyncio.to_thread(_check, running)
            if number:
                took.append(running.ready_after)
    note = "from the start of the process until ready, all engines warm; after a first start"
    return [READY.of(took, note=note)]


def _check(running: Running) -> None:
    """Hold the server to its word."""
    with urllib.request.urlopen(f"{running.http}/readyz", timeout=5.0) as answer:  # noqa: S310  (http)
        if answer.status != 200:
            raise ServerFailed(f"said that it was ready, and answers {answer.status}")


BENCHMARKS = (
    Benchmark(
        name="serve.ready",
        about="Start of the server until it is ready, engines in the page cache.",
        figures=(READY,),
        run=measure,
    ),
)
