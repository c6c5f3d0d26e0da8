"""How long `legato serve` takes until it can be used."""

from __future__ import annotations

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.process import legato_server
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
            await running.get("/readyz")  # holds it to its word
            if number:
                took.append(running.ready_after)
    note = "from the start of the process until ready, all engines warm; after a first start"
    return [READY.of(took, note=note)]


BENCHMARKS = (
    Benchmark(
        name="serve.ready",
        about="Start of the server until it is ready, engines in the page cache.",
        figures=(READY,),
        run=measure,
    ),
)
