"""What Legato adds to its engine: to the first audio, and in processor time."""

from __future__ import annotations

import asyncio
import random
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

import legato
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import used_seconds
from legato.bench.process import ServerFailed, legato_server
from legato.bench.row import Figure, Row, percentile
from legato.bench.speakers import sentences
from legato.bench.speaking import first_audio

RUNS: Final = 60
WARM_UP_RUNS: Final = 5
ANSWER_TIMEOUT: Final = 30.0
MAX_LINE_BYTES: Final = 1 << 20

FIRST: Final = Figure("overhead.hibari.first_audio", "s", 0.015)
CPU: Final = Figure("overhead.hibari.cpu", "of the engine", 0.05)
WHOLE: Final = Figure("overhead.hibari.server_cpu", "of the engine")


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a sentence cost; see `legato.worker.overhead`."""

    first: float
    cpu: float
    samples: int


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What it cost bare, and in an engine process."""

    bare: Cost
    process: Cost


@dataclass(frozen=True, slots=True)
class Turn:
    """One sentence, said three times.

    Attributes:
        costs: Bare and in an engine process.
        first: Seconds to the first audio through the whole server.
        cpu: Processor seconds of the whole server.
    """

    costs: Costs
    first: float
    cpu: float


async def measure(setup: Setup) -> list[Row]:
    """Have sentences said by the bare engine, in an engine process and by the server, by turns."""
    turns: list[Turn] = []
    runs = setup.times(RUNS, 4)
    async with (
        legato_server() as running,
        legato.connect(running.url) as client,
        _program() as program,
    ):
        # Without a comma, at which the server would cut, so that all say the same at once.
        rng = random.Random(3)  # noqa: S311  (texts, not secrets)
        for number, text in enumerate(islice(sentences(rng), WARM_UP_RUNS + runs)):
            setup.tell(f"sentence {number} of {WARM_UP_RUNS + runs}")
            costs = await _said(program, text)
            before = used_seconds(running.pid)
            first = await first_audio(client, text, cache=False)
            turn = Turn(costs, first, used_seconds(running.pid) - before)
            if number >= WARM_UP_RUNS:
                turns.append(turn)
    return rows(turns)


def rows(turns: Sequence[Turn]) -> list[Row]:
    """Make the rows: of first audio the difference sentence by sentence, of CPU the sums."""
    bare = sum(turn.costs.bare.cpu for turn in turns)
    hosted = sum(turn.costs.process.cpu for turn in turns)
    whole = sum(turn.cpu for turn in turns)
    later = [turn.first - turn.costs.bare.first for turn in turns]
    alone = percentile([turn.costs.bare.first for turn in turns], 0.5)
    through = percentile([turn.first for turn in turns], 0.5)
    process = percentile([turn.costs.process.first for turn in turns], 0.5)
    note = (
        "client, gateway, bus, worker and engine process against a plain loop, sentence by"
        f" sentence of 16 words, by turns; medians {through * 1e3:.1f} against"
        f" {alone * 1e3:.1f} ms, in an engine process without the rest {process * 1e3:.1f} ms"
    )
    each = f"{hosted / len(turns) * 1e3:.1f} against {bare / len(turns) * 1e3:.1f} ms a sentence"
    all_of_it = f"{whole / len(turns) * 1e3:.1f} ms a sentence, all audio sent in frames of 20 ms"
    return [
        FIRST.of(later, 0.5, note=note),
        CPU.row(hosted / bare - 1, n=len(turns), note=f"of the engine's process; {each}"),
        WHOLE.row(whole / bare - 1, n=len(turns), note=f"of the whole server; {all_of_it}"),
    ]


@asynccontextmanager
async def _program() -> AsyncIterator[Process]:
    """Run the worker's program that has the engine, until it is warm.

    Raises:
        ServerFailed: If it does not get there.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.worker.overhead",
        stdin=PIPE,
        stdout=PIPE,
        limit=MAX_LINE_BYTES,
    )
    try:
        await _line(process)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _said(process: Process, text: str) -> Costs:
    assert process.stdin is not None  # noqa: S101  (pipes were asked for)
    process.stdin.write(msgspec.json.encode(text) + b"\n")
    return msgspec.json.decode(await _line(process), type=Costs)


async def _line(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101  (pipes were asked for)
    async with asyncio.timeout(ANSWER_TIMEOUT):
        line = await process.stdout.readline()
    if not line:
        raise ServerFailed("the program with the bare engine ended")
    return line


BENCHMARKS = (
    Benchmark(
        name="overhead.hibari",
        about="First audio and CPU beyond what the bare engine takes.",
        figures=(FIRST, CPU, WHOLE),
        run=measure,
    ),
)
