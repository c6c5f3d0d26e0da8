"""One run of the load generator against a set of processes, and the rows of several runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.generator import Begun, Outcome, Plan
from legato.bench.machine import busy_seconds
from legato.bench.process import ServerFailed
from legato.bench.row import Figure, Row, percentile

INTERVAL: Final = 0.2
"""Seconds between a user's chunks."""

WARM_UP: Final = 2.0
DRAIN: Final = 2.0
MAX_LINE_BYTES: Final = 1 << 26
OPEN_TIMEOUT: Final = 60.0
OTHERS: Final = 0.5
"""Cores that work which has no part in the run may take: with more of it nothing is measured, least
of all somebody else's stack."""

SATURATED: Final = 0.9
"""Share of a core from which on a generator on one core counts as saturated."""


@dataclass(frozen=True, slots=True)
class Volley:
    """What a run showed.

    Attributes:
        begun: When it counted.
        outcome: What the generator saw.
        cpu: Seconds of CPU of each process while it counted.
        busy: Seconds of CPU of the whole machine meanwhile.
    """

    begun: Begun
    outcome: Outcome
    cpu: Mapping[str, float]
    busy: float = 0.0

    def fault(self, bound: float) -> str:
        """Say why this is no measurement, if the generator was too late or at its limit.

        Args:
            bound: Seconds that it may be late at p99.
        """
        if self.others > OTHERS:
            return (
                f"invalid: other work took {self.others:.2f} of the machine's cores (above"
                f" {OTHERS:g}), so the figure says nothing of the server"
            )
        late = self.lateness
        if late > bound or self.outcome.cpu > SATURATED:
            return (
                f"invalid: the load generator was late by {late * 1e3:.1f} ms at p99 (above"
                f" {bound * 1e3:g}) or saturated ({self.outcome.cpu:.2f} of a core; other work took"
                f" {self.others:.2f} cores), so the figure says nothing of the server"
            )
        return ""

    @property
    def lateness(self) -> float:
        """Seconds that the generator was late, at p99; 0 if nothing was sent."""
        return percentile(self.outcome.lateness, 0.99) if self.outcome.lateness else 0.0

    @property
    def others(self) -> float:
        """Cores that were taken by what has no part in the run."""
        wall = self.begun.end - self.begun.counted_from
        return max(0.0, (self.busy - sum(self.cpu.values())) / wall - self.outcome.cpu)

    def cost_us(self, name: str | None = None) -> float:
        """Return microseconds of CPU for one answered chunk, of one process or of all.

        Raises:
            ValueError: If nothing was answered.
        """
        if not self.outcome.answered:
            raise ValueError("no chunk was answered")
        seconds = sum(self.cpu.values()) if name is None else self.cpu[name]
        return seconds / self.outcome.answered * 1e6


async def fire(
    address: str, dialect: str, users: int, seconds: float, cpu: Callable[[], dict[str, float]]
) -> Volley:
    """Run the generator once.

    Args:
        address: Host and port.
        dialect: How the server is spoken to.
        users: Connections.
        seconds: Length, warm-up included.
        cpu: Tells the CPU so far of each process that is measured.

    Raises:
        ServerFailed: If the connections cannot be opened.
    """
    plan = Plan(
        address=address,
        dialect=dialect,
        users=users,
        interval=INTERVAL,
        seconds=seconds,
        warm_up=WARM_UP,
        drain=DRAIN,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.bench.generator",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
    )
    try:
        async with asyncio.timeout(OPEN_TIMEOUT + seconds + DRAIN):
            return await _watch(process, plan, cpu)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _watch(
    process: asyncio.subprocess.Process, plan: Plan, cpu: Callable[[], dict[str, float]]
) -> Volley:
    assert process.stdin is not None  # noqa: S101  (pipes were asked for)
    assert process.stdout is not None  # noqa: S101  (as above)
    assert process.stderr is not None  # noqa: S101  (as above)
    process.stdin.write(msgspec.json.encode(plan) + b"\n")
    await process.stdin.drain()
    line = await process.stdout.readline()
    if not line:
        said = (await process.stderr.read()).decode(errors="replace").strip()
        raise ServerFailed(
            f"the load does not begin: {said.splitlines()[-1] if said else 'silence'}"
        )
    begun = msgspec.json.decode(line, type=Begun)
    await asyncio.sleep(max(0.0, begun.counted_from - perf_counter()))
    before, busy = cpu(), busy_seconds()
    await asyncio.sleep(max(0.0, begun.end - perf_counter()))
    after, busy = cpu(), busy_seconds() - busy
    outcome = msgspec.json.decode(await process.stdout.readline(), type=Outcome)
    return Volley(begun, outcome, {name: after[name] - before[name] for name in after}, busy)


@dataclass(frozen=True, slots=True)
class Figures:
    """The three rows of a load.

    Attributes:
        p99: Latency of an answer.
        lost: Chunks without an answer.
        cpu: CPU of one chunk over all processes but the generator.
    """

    p99: Figure
    lost: Figure
    cpu: Figure

    @classmethod
    def of(
        cls, name: str, *, p99: float | None, cpu_us: float | None = None, lost: float | None = None
    ) -> Figures:
        """Name the rows of a load, with what each of them must reach."""
        return cls(
            Figure(f"{name}.p99", "s", p99),
            Figure(f"{name}.lost", "chunks", lost),
            Figure(f"{name}.cpu", "us", cpu_us),
        )

    @property
    def all(self) -> tuple[Figure, Figure, Figure]:
        """All of them."""
        return (self.p99, self.lost, self.cpu)

    def missing(self, why: str) -> list[Row]:
        """Make the rows of a load that was not measured."""
        return [figure.missing(why) for figure in self.all]

    def rows(self, volleys: Sequence[Volley], *, late: float, what: str) -> list[Row]:
        """Make the rows of some runs; those that the generator spoilt are left out.

        Args:
            volleys: One or more.
            late: Seconds that the generator may be late at p99.
            what: What served, for the notes.
        """
        faults = [fault for volley in volleys if (fault := volley.fault(late))]
        valid = [volley for volley in volleys if not volley.fault(late)]
        if not valid:
            return self.missing(faults[0])
        left_out = f"; {len(faults)} runs left out, {faults[0]}" if faults else ""
        about = f"{_conditions(valid)}; {what}{left_out}"
        samples = [latency for one in valid for latency in one.outcome.latencies]
        lost = sum(one.outcome.lost for one in valid)
        sent = sum(one.outcome.sent for one in valid)
        broken = [fault for one in valid for fault in one.outcome.faults]
        why = f"; {len(broken)} connections broke, {broken[0]}" if broken else ""
        users = max(one.outcome.users_lost for one in valid)
        whose = f", of {users} connections in the worse run" if users else ""
        about_lost = f"chunks without an answer {DRAIN:g} s after all{whose}{why}"
        costs = [one.cost_us() for one in valid if one.outcome.answered]
        nothing = "no chunk was answered"
        return [
            self.p99.of(samples, 0.99, note=about) if samples else self.p99.missing(nothing),
            self.lost.row(lost, n=sent, note=about_lost),
            self.cpu.of(costs, note=f"{_split(valid)}; {what}")
            if costs
            else self.cpu.missing(nothing),
        ]


def _conditions(valid: Sequence[Volley]) -> str:
    slowest = [
        percentile(one.outcome.latencies, 0.99) * 1e3 for one in valid if one.outcome.latencies
    ] or [0.0]
    late = max(one.lateness for one in valid) * 1e3
    share = max(one.outcome.cpu for one in valid)
    others = max(one.others for one in valid)
    return (
        f"open loop, from the intended send time; generator late by {late:.1f} ms at p99, which is"
        f" counted, and {share:.2f} of a core; other work took {others:.2f} cores; p99 of the runs"
        f" from {min(slowest):.1f} to {max(slowest):.1f} ms"
    )


def _split(valid: Sequence[Volley]) -> str:
    answered = sum(one.outcome.answered for one in valid)
    if not answered:
        return ""
    parts = [
        f"{name} {sum(one.cpu[name] for one in valid) / answered * 1e6:.0f}"
        for name in valid[0].cpu
    ]
    return f"a chunk up and its answer, of which {', '.join(parts)} us"
