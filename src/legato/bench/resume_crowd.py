"""A thousand connections that are cut at once: how soon all streams go on, and the loop's lag."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import busy_seconds, raise_open_files
from legato.bench.metrics import Buckets, at_most, lag
from legato.bench.process import ServerFailed
from legato.bench.resumers import Clients, Cut, Ending, Outcome
from legato.bench.row import Figure, Row
from legato.bench.stack import shared

CLIENTS: Final = 1_000
PROCESSES: Final = 4
EVERY: Final = 2.0
"""Seconds between the frames of a stream."""

ROUNDS: Final = 3
WITHIN: Final = 24.0
"""Seconds after which a stream that is not back counts as having taken as long."""

LEAD: Final = 0.3
"""Seconds before a cut in which all client processes hear of it."""

CALM: Final = 2.0
"""Seconds before each cut, so that what was begun is over."""

SPARE_FILES: Final = 500
"""Of the server, beyond two for each client: the old connection may outlive the new one's start."""

OPEN_TIMEOUT: Final = 100.0
END_TIMEOUT: Final = 30.0
MAX_LINE_BYTES: Final = 1 << 20

_RAISED: Final = re.compile(r"[\w.]+Error: ")

RESUMED: Final = Figure("resume.crowd", "s", 20.0)
LAG: Final = Figure("resume.crowd.lag", "s", 0.25)
WRONG: Final = Figure("resume.crowd.wrong", "samples", 0)


class Crew:
    """The client processes.

    Args:
        processes: With pipes.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    async def open(self, clients: Clients) -> None:
        """Begin so many streams in each process."""
        async with asyncio.timeout(OPEN_TIMEOUT):
            await self._ask(msgspec.json.encode(clients))

    async def cut(self) -> list[Outcome]:
        """Cut all connections of all processes at one moment."""
        cut = Cut(at=perf_counter() + LEAD, within=WITHIN)
        async with asyncio.timeout(LEAD + WITHIN + END_TIMEOUT):
            lines = await self._ask(msgspec.json.encode(cut))
        return [msgspec.json.decode(line, type=Outcome) for line in lines]

    async def end(self) -> list[Ending]:
        """End all streams."""
        for process in self._processes:
            assert process.stdin is not None  # noqa: S101  (pipes were asked for)
            process.stdin.close()
        async with asyncio.timeout(END_TIMEOUT):
            lines = await asyncio.gather(*map(_answer, self._processes))
        return [msgspec.json.decode(line, type=Ending) for line in lines]

    async def _ask(self, line: bytes) -> list[bytes]:
        for process in self._processes:
            assert process.stdin is not None  # noqa: S101  (pipes were asked for)
            process.stdin.write(line + b"\n")
        return await asyncio.gather(*map(_answer, self._processes))


async def _answer(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101  (pipes were asked for)
    assert process.stderr is not None  # noqa: S101  (as above)
    line = await process.stdout.readline()
    if not line:
        said = (await process.stderr.read()).decode(errors="replace").splitlines()
        # What the loop has to say of tasks that are left comes after the reason.
        raised = [line for line in said if _RAISED.match(line)] or ["they said nothing"]
        raise ServerFailed(f"clients ended: {raised[-1]}")
    return line


@asynccontextmanager
async def crew(count: int) -> AsyncIterator[Crew]:
    """Run client processes for the length of the block."""
    command = (sys.executable, "-m", "legato.bench.resumers")
    processes: list[Process] = []
    try:
        for _ in range(count):
            started = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE_BYTES
            )
            processes.append(started)
        yield Crew(processes)
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def measure(setup: Setup) -> list[Row]:
    """Cut all connections at once, some times over."""
    count = setup.times(CLIENTS, 20) // PROCESSES
    rounds = setup.times(ROUNDS)
    raise_open_files(2 * count * PROCESSES + SPARE_FILES)
    outcomes: list[list[Outcome]] = []
    looks = Buckets()
    others: list[float] = []
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(shared())
        clients = await stack.enter_async_context(crew(PROCESSES))
        setup.tell(f"opening {count * PROCESSES} streams")
        await clients.open(Clients(address=servers.running.address, count=count, every=EVERY))
        for number in range(rounds):
            await asyncio.sleep(CALM)
            setup.tell(f"cut {number + 1} of {rounds}")
            before, busy, began = await lag(servers.running), busy_seconds(), perf_counter()
            outcomes.append(await clients.cut())
            looks.update(await lag(servers.running) - before)
            others.append((busy_seconds() - busy) / (perf_counter() - began))
        endings = await clients.end()
    return rows_of(outcomes, looks, endings, busy=max(others))


def rows_of(
    outcomes: Sequence[Sequence[Outcome]],
    looks: Buckets,
    endings: Sequence[Ending],
    *,
    busy: float,
) -> list[Row]:
    """Make the rows.

    Args:
        outcomes: Of each cut, those of all client processes.
        looks: How late the server's loop was, from each cut until the last was resumed.
        endings: Of all client processes.
        busy: Cores that all on the machine took meanwhile, at most.
    """
    took = [seconds for cut in outcomes for outcome in cut for seconds in outcome.took]
    missing = sum(outcome.missing for cut in outcomes for outcome in cut)
    late = max(outcome.late for cut in outcomes for outcome in cut)
    worst = [max((one for outcome in cut for one in outcome.took), default=0) for cut in outcomes]
    clients = sum(len(outcome.took) + outcome.missing for outcome in outcomes[0])
    about = (
        f"{clients} clients, each with an echo of 20 ms every {EVERY:g} s, reset their own sockets"
        f" at one moment ({len(outcomes[0])} processes, the last socket {late * 1e3:.0f} ms late)"
    )
    rounds = f"slowest of each cut {', '.join(f'{one:.2f}' for one in worst)} s"
    cores = f"{busy:.2f} cores were busy"
    failed = [reason for ending in endings for reason in ending.failed]
    if failed:
        resumed = RESUMED.missing(f"{len(failed)} streams failed: {failed[0]}; {about}")
    else:
        never = f"{missing} were not back after {WITHIN:g} s; " if missing else ""
        note = f"{never}slowest of all; {rounds}; {about}; {cores}"
        resumed = RESUMED.of([*took, *[WITHIN] * missing], 1.0, note=note)
    spread = ", ".join(f"{looks[bound]} to {bound:g}" for bound in sorted(looks) if looks[bound])
    total = looks.total()
    note = f"gateway's loop until all were back, p99 is not above this; {total} looks: {spread} s"
    wrong = sum(ending.wrong for ending in endings)
    return [
        resumed,
        LAG.row(at_most(looks, 0.99), n=total, note=note),
        WRONG.row(wrong, n=len(took), note="lost or doubled, over all streams to their ends"),
    ]


BENCHMARKS = (
    Benchmark(
        name="resume.crowd",
        about="A thousand connections are cut at once: time until all streams go on.",
        figures=(RESUMED, LAG, WRONG),
        run=measure,
        timeout=240.0,
    ),
)
