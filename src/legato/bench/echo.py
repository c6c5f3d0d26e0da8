"""Duplex echo: what one frame costs the server, against others, and how long it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.load import FRAME, Load, Peer, run
from legato.bench.peers.speakers import BareSpeaker, LegatoSpeaker, PipecatSpeaker
from legato.bench.process import Running, ServerFailed, legato_server, server
from legato.bench.row import Figure, Row, percentile

PEERS = Path(__file__).with_name("peers")

STREAMS = 40
ROUNDS = 6
ROUND_SECONDS = 5.0

LATENCY_RUNS = 3
LATENCY_SECONDS = 10.0
LATENCY_BOUND = 0.010

CPU = {name: Figure(f"echo.cpu.{name}", "us") for name in ("legato", "bare", "pipecat")}
RATIOS = {
    "bare": Figure("echo.cpu.vs_bare", "x", 2.0),
    "pipecat": Figure("echo.cpu.vs_pipecat", "x", 0.5),
}
P99 = Figure("echo.latency.p99", "s", LATENCY_BOUND)
LOST = Figure("echo.latency.lost", "frames", 0)

NO_PIPECAT = "pipecat is not installed: `make bench` installs it, or name its Python (--pipecat)"


@dataclass(slots=True)
class Contender:
    """A server of the comparison.

    Attributes:
        running: Its process.
        speaker: Makes the load's end of one connection.
        costs: Microseconds of CPU for a frame, by round.
        lost: Frames without an answer, all rounds together.
        fault: Why a round was no measurement, the last one if there were several.
    """

    running: Running
    speaker: Callable[[], Peer]
    costs: dict[int, float] = field(default_factory=dict)
    lost: int = 0
    fault: str = ""

    def take(self, number: int, load: Load) -> None:
        """Note a round; one that the generator spoilt is not counted."""
        self.lost += load.lost
        fault = load.late(FRAME) if load.frames else "invalid: no frame was answered"
        if fault:
            self.fault = fault
        else:
            self.costs[number] = load.cpu_per_frame_us


async def measure_cpu(setup: Setup) -> list[Row]:
    """Let the servers echo by turns, the order reversed each round, and compare medians."""
    async with AsyncExitStack() as stack:
        command = [sys.executable, str(PEERS / "bare.py")]
        bare = await stack.enter_async_context(server(command, ready=b"ready on"))
        contenders = {
            "bare": Contender(bare, BareSpeaker),
            "legato": Contender(await stack.enter_async_context(legato_server()), LegatoSpeaker),
        }
        why = NO_PIPECAT
        if setup.pipecat is not None:
            command = [str(setup.pipecat), str(PEERS / "pipecat_echo.py")]
            try:
                pipecat = await stack.enter_async_context(server(command, ready=b"ready on"))
                contenders["pipecat"] = Contender(pipecat, PipecatSpeaker)
            except ServerFailed as error:
                why = str(error)
        await _take_turns(contenders, setup)
    return compared(contenders, without_pipecat=why)


async def _take_turns(contenders: Mapping[str, Contender], setup: Setup) -> None:
    order = list(contenders)
    rounds = setup.times(ROUNDS)
    seconds = 2.0 if setup.quick else ROUND_SECONDS
    for number in range(rounds):
        for name in order:
            setup.tell(f"round {number + 1} of {rounds}: {name}")
            one = contenders[name]
            load = await run(one.running, one.speaker, streams=STREAMS, seconds=seconds)
            one.take(number, load)
        order.reverse()


def compared(contenders: Mapping[str, Contender], *, without_pipecat: str) -> list[Row]:
    """Make the rows of the comparison: ratios of the same round, and what each one costs."""
    rows = []
    legato = contenders["legato"]
    for name, figure in RATIOS.items():
        other = contenders.get(name)
        if other is None:
            rows.append(figure.missing(without_pipecat))
            continue
        both = legato.costs.keys() & other.costs.keys()
        if both:
            ratios = [legato.costs[number] / other.costs[number] for number in both]
            note = f"{STREAMS} streams, by turns in one run; median of the rounds"
            rows.append(figure.of(ratios, note=note))
        else:
            rows.append(figure.missing(legato.fault or other.fault))
    for name, figure in CPU.items():
        one = contenders.get(name)
        if one is None:
            rows.append(figure.missing(without_pipecat))
        elif one.costs:
            rows.append(figure.of(list(one.costs.values()), note=_about(one)))
        else:
            rows.append(figure.missing(one.fault))
    return rows


def _about(one: Contender) -> str:
    about = "CPU of the server for one frame up and its echo down, 20 ms of 16 kHz PCM"
    if one.lost:
        about += f"; {one.lost} frames came not or late"
    return f"{about}; a round left out, {one.fault}" if one.fault else about


async def measure_latency(setup: Setup) -> list[Row]:
    """Echo on 40 connections and look at the slowest of a hundred frames."""
    runs = setup.times(LATENCY_RUNS)
    loads = []
    async with legato_server() as running:
        for number in range(runs):
            setup.tell(f"run {number + 1} of {runs}")
            seconds = 3.0 if setup.quick else LATENCY_SECONDS
            loads.append(await run(running, LegatoSpeaker, streams=STREAMS, seconds=seconds))
    return latencies(loads)


def latencies(loads: list[Load]) -> list[Row]:
    """Make the rows of several runs; those that the generator spoilt are left out."""
    faults = [fault for load in loads if (fault := load.late(LATENCY_BOUND / 2))]
    valid = [load for load in loads if not load.late(LATENCY_BOUND / 2) and load.latencies]
    if not valid:
        why = faults[0] if faults else "invalid: no frame was answered"
        return [P99.missing(why), LOST.missing(why)]
    slowest = [percentile(load.latencies, 0.99) for load in valid]
    samples = [latency for load in valid for latency in load.latencies]
    lateness = percentile([late for load in valid for late in load.lateness], 0.99)
    note = (
        f"{STREAMS} streams, open loop, from the intended send time; the generator's own lateness"
        f" is {lateness * 1e3:.1f} ms at p99 and counted; spread: p99 of the runs from"
        f" {min(slowest) * 1e3:.1f} to {max(slowest) * 1e3:.1f} ms"
    )
    if faults:
        note += f"; {len(faults)} runs left out, {faults[0]}"
    lost = sum(load.lost for load in valid)
    row = P99.of(samples, 0.99, note=note)
    return [row, LOST.row(lost, n=len(samples), note="frames without an answer in 2 s")]


BENCHMARKS = (
    Benchmark(
        name="echo.cpu",
        about="CPU of a duplex echo for a frame, against bare uvicorn and pipecat.",
        figures=(*RATIOS.values(), *CPU.values()),
        run=measure_cpu,
        timeout=240.0,
    ),
    Benchmark(
        name="echo.latency",
        about="Latency of 40 echo streams, from the intended send time.",
        figures=(P99, LOST),
        run=measure_latency,
    ),
)
