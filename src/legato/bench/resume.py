"""How long a stream stands still when its connection is lost."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.cutter import Cut, Cutter
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row
from legato.client.client import Client, connect
from legato.client.listening import Echo

CUTS: Final = 60
"""Of one stream, one after the other."""

BLACKOUT: Final = 3.0
BLACKOUTS: Final = 4
CLIENTS: Final = 10
"""That go through a blackout together, each on a connection of its own."""

MOST_SECONDS: Final = 10.0
"""That a stream may stand still; longer, and the benchmark fails."""

SILENCE: Final = bytes(640)
"""20 ms of 16 kHz PCM."""

RESUMED = Figure("resume.cut", "s", 0.3)
CUT_WRONG = Figure("resume.cut.wrong", "samples", 0)
RETURNED = Figure("resume.blackout", "s", 1.0)
BLACKOUT_WRONG = Figure("resume.blackout.wrong", "samples", 0)


class Talk:
    """An echo stream in real time, whose samples are counted on their way back.

    Attributes:
        wrong: Samples that were lost, or came twice.
        moved: Set whenever samples come.
        restored: Set when the stream has arrived on another connection.
    """

    def __init__(self, client: Client) -> None:
        self._over = False
        self._echo: Echo = client.echo(self._frames())
        self._echo.on_notice = lambda notice: self._note(notice.kind)
        self.wrong = 0
        self.moved = asyncio.Event()
        self.restored = asyncio.Event()

    async def run(self) -> None:
        """Talk until `stop`."""
        expected = 0
        async for chunk in self._echo:
            self.wrong += abs(chunk.sample - expected)
            expected = chunk.sample + chunk.samples
            self.moved.set()

    def stop(self) -> None:
        """Say no more."""
        self._over = True

    def _note(self, kind: str) -> None:
        if kind == "restored":
            self.restored.set()

    async def _frames(self) -> AsyncIterator[bytes]:
        while not self._over:
            yield SILENCE
            await asyncio.sleep(0.02)


@asynccontextmanager
async def talks(cutter: Cutter, count: int) -> AsyncIterator[list[Talk]]:
    """Run streams, each of a client of its own, for the length of the block."""
    async with AsyncExitStack() as stack:
        running = []
        for _ in range(count):
            client = await stack.enter_async_context(connect(cutter.url, pool_size=1))
            running.append(Talk(client))
        async with asyncio.TaskGroup() as group:
            for talk in running:
                group.create_task(talk.run())
            await _until([talk.moved for talk in running])
            yield running
            for talk in running:
                talk.stop()


async def _until(events: Sequence[asyncio.Event]) -> list[float]:
    """Wait for all of the events; return how many seconds each took."""
    began = time.perf_counter()

    async def one(event: asyncio.Event) -> float:
        event.clear()
        await event.wait()
        return time.perf_counter() - began

    async with asyncio.timeout(MOST_SECONDS):
        return await asyncio.gather(*(one(event) for event in events))


async def measure_cuts(setup: Setup) -> list[Row]:
    """Cut the connection of one stream again and again, in the middle of whatever."""
    values = random.Random(3)  # noqa: S311  (a schedule)
    cuts = setup.times(CUTS, 5)
    took: list[float] = []
    async with legato_server() as running, Cutter(_port(running.address)) as cutter:
        async with talks(cutter, 1) as (talk,):
            for number in range(cuts):
                setup.tell(f"cut {number + 1} of {cuts}")
                await asyncio.sleep(values.uniform(0.05, 0.3))
                cutter.cut(values.choice([Cut.RESET, Cut.CLOSE]))
                took += await _until([talk.restored])
        note = "from the cut (reset or close by turns of chance) until the stream is resumed; p95"
        return [RESUMED.of(took, 0.95, note=note), CUT_WRONG.row(talk.wrong, n=cuts)]


async def measure_blackouts(setup: Setup) -> list[Row]:
    """Lose everything for 3 s: open connections never speak again, new ones get no answer."""
    values = random.Random(3)  # noqa: S311  (a schedule)
    blackouts = setup.times(BLACKOUTS)
    clients = setup.times(CLIENTS, 2)
    took: list[float] = []
    wrong = 0
    async with legato_server() as running, Cutter(_port(running.address)) as cutter:
        for number in range(blackouts):
            setup.tell(f"blackout {number + 1} of {blackouts}")
            async with talks(cutter, clients) as all_talks:
                await asyncio.sleep(values.uniform(0.2, 1.0))
                cutter.darken()
                await asyncio.sleep(BLACKOUT)
                cutter.lighten()
                took += await _until([talk.moved for talk in all_talks])
            wrong += sum(talk.wrong for talk in all_talks)
    note = (
        f"from the end of {BLACKOUT:g} s without a network until samples come back; {clients}"
        " clients at once; p95"
    )
    return [RETURNED.of(took, 0.95, note=note), BLACKOUT_WRONG.row(wrong, n=len(took))]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


BENCHMARKS = (
    Benchmark(
        name="resume.cut",
        about="A connection is cut and the server can be reached: time until the stream goes on.",
        figures=(RESUMED, CUT_WRONG),
        run=measure_cuts,
    ),
    Benchmark(
        name="resume.blackout",
        about="The network is gone for 3 s: time from its return until the stream goes on.",
        figures=(RETURNED, BLACKOUT_WRONG),
        run=measure_blackouts,
    ),
)
