"""Many users with chunks of 200 ms: through Redis and a worker of its own, and in one process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import raise_open_files
from legato.bench.row import Row
from legato.bench.stack import Stack, embedded, shared
from legato.bench.volley import INTERVAL, WARM_UP, Figures, fire

RUNS: Final = 2
SECONDS: Final = 8.0
QUICK_SECONDS: Final = 3.0
SPARE_FILES: Final = 500

REDIS: Final = (
    "1 gateway, 1 worker (echo of 6,400 B), Redis without persistence; window up to 5 ms"
    " (bus.redis.config), all on this machine"
)
MEMORY: Final = "`legato serve` with the embedded bus (echo of 6,400 B)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A number of users, and what serves them.

    Attributes:
        users: How many.
        figures: What is made of it.
        stack: Starts what serves.
        what: The same in words.
        late: Seconds that the generator may be late at p99.
    """

    users: int
    figures: Figures
    stack: Callable[[], AbstractAsyncContextManager[Stack]]
    what: str
    late: float

    async def measure(self, setup: Setup) -> Sequence[Row]:
        """Let them speak, several times against the same processes."""
        users = 20 if setup.quick else self.users
        seconds = QUICK_SECONDS if setup.quick else WARM_UP + SECONDS
        raise_open_files(users + SPARE_FILES)
        volleys = []
        async with self.stack() as stack:
            for number in range(setup.times(RUNS)):
                setup.tell(f"run {number + 1}")
                address = stack.running.address
                volleys.append(await fire(address, "legato", users, seconds, stack.cpu))
        what = f"{users} users, 6,400 B every {INTERVAL * 1e3:.0f} ms; {self.what}"
        return self.figures.rows(volleys, late=self.late, what=what)


def _benchmark(name: str, about: str, crowd: Crowd) -> Benchmark:
    run: Callable[[Setup], Awaitable[Sequence[Row]]] = crowd.measure
    return Benchmark(name=name, about=about, figures=crowd.figures.all, run=run, timeout=150.0)


BENCHMARKS = (
    _benchmark(
        "redis.400",
        "400 users through Redis, a gateway and a worker of its own, each chunk answered.",
        Crowd(
            users=400,
            figures=Figures.of("redis.400", p99=0.020, cpu_us=350.0, lost=0),
            stack=shared,
            what=REDIS,
            late=0.010,
        ),
    ),
    _benchmark(
        "redis.1000",
        "The same with 1,000 users.",
        Crowd(
            users=1000,
            figures=Figures.of("redis.1000", p99=0.100, cpu_us=200.0, lost=0),
            stack=shared,
            what=REDIS,
            late=0.050,
        ),
    ),
    _benchmark(
        "memory.2000",
        "2,000 users in one process with the embedded bus.",
        Crowd(
            users=2000,
            figures=Figures.of("memory.2000", p99=0.050, lost=0),
            stack=embedded,
            what=MEMORY,
            late=0.025,
        ),
    ),
)
