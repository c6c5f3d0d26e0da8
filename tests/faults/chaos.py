"""Random schedules of faults, seed after seed: `python -m tests.faults.chaos --seeds 200`.

Each job keeps a system of its own over its seeds; a seed alone decides what is done when. A line a
seed, a summary, and exit code 1 if any promise was broken; such a seed is told with the command
that does the same again.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.faults.case import Case
from tests.faults.checker import Promise, Violation
from tests.faults.nemesis import EMBEDDED, LENGTHS, Fault, schedule
from tests.faults.system import System
from tests.faults.workload import mixed

SPAN = 3.0
"""Seconds within which faults begin; streams take a second more."""

VARIANTS = 3
MOST_FAULTS = 3
EMBEDDED_EVERY = 8
"""One seed of so many is for a server in one process."""

SEED_TIMEOUT = 90.0
STALL = 12.0
"""Several faults may hold a stream up one after the other."""

Shape = Literal["redis", "embedded"]


@dataclass(frozen=True, slots=True)
class Script:
    """What a seed decides.

    Args:
        seed: It.
        shape: Of the system.
        variant: Of what streams say.
        faults: What is done, and when.
    """

    seed: int
    shape: Shape
    variant: int
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, seed: int) -> Script:
        """Draw it."""
        rng = random.Random(seed)
        shape: Shape = "embedded" if seed % EMBEDDED_EVERY == 0 else "redis"
        kinds = [kind for kind in LENGTHS if shape == "redis" or kind in EMBEDDED]
        faults = schedule(rng, span=SPAN, count=rng.randint(1, MOST_FAULTS), kinds=kinds)
        return cls(seed, shape, rng.randrange(VARIANTS), tuple(faults))


@dataclass
class Result:
    """How a seed went."""

    script: Script
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    error: str = ""
    history: Path | None = None

    @property
    def good(self) -> bool:
        """Whether every promise was kept."""
        return not self.violations and not self.error

    def lines(self) -> Iterator[str]:
        """What is told of it."""
        script = self.script
        faults = " ".join(str(fault) for fault in script.faults)
        verdict = "ok  " if self.good else "FAIL"
        yield f"{verdict} seed {script.seed:4} {script.shape:8} {self.seconds:5.1f} s  {faults}"
        if not self.good:
            yield from (f"       {violation}" for violation in self.violations)
            if self.error:
                yield f"       {self.error}"
            yield f"       history: {self.history}"
            command = f"{sys.executable} -m tests.faults.chaos --from {script.seed} --seeds 1"
            yield f"       again: {command}"


class Job:
    """Runs seeds one after the other, each shape on a system that it keeps.

    Args:
        place: Where histories of failures go.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._systems: dict[Shape, System] = {}

    async def run(self, script: Script) -> Result:
        """Run a seed; after a failure the next one gets a fresh system."""
        began = time.monotonic()
        result = Result(script, history=self._place / f"seed-{script.seed}.jsonl")
        try:
            async with asyncio.timeout(SEED_TIMEOUT):
                result.violations = await self._disturb(script, result.history)
        except Exception as error:  # noqa: BLE001  (top of a seed: it is told, the next one runs)
            result.error = f"{type(error).__name__}: {error}"
        result.seconds = time.monotonic() - began
        if result.good:
            assert result.history is not None
            result.history.unlink(missing_ok=True)
        else:
            await self._give_up(script)
        return result

    async def close(self) -> None:
        """End its systems."""
        systems, self._systems = list(self._systems.values()), {}
        for system in systems:
            await system.stop()

    async def _disturb(self, script: Script, history: Path | None) -> list[Violation]:
        case = Case(await self._system(script.shape), seed=script.seed, path=history)
        plans = mixed(script.variant, duration=SPAN + 1, engines=script.shape == "redis")
        async with case.streams(plans):
            await case.moment(0.5, streams=len(plans))
            await case.faults(script.faults)
        return case.violations(Promise(stall=STALL))

    async def _system(self, shape: Shape) -> System:
        if shape not in self._systems:
            system = System() if shape == "redis" else System(redis=None)
            self._systems[shape] = system
            await system.open()
        return self._systems[shape]

    async def _give_up(self, script: Script) -> None:
        system = self._systems.pop(script.shape, None)
        if system is not None:
            log = self._place / f"seed-{script.seed}.log"
            log.write_text(system.logs(), encoding="utf-8")
            await system.stop()


class Campaign:
    """All seeds, shared out to jobs.

    Args:
        seeds: Which.
        place: Where histories of failures go.
    """

    def __init__(self, seeds: range, place: Path) -> None:
        self._left = iter(seeds)
        self._count = len(seeds)
        self._place = place
        self.results: list[Result] = []

    async def run(self, jobs: int) -> None:
        """Run them all."""
        async with asyncio.TaskGroup() as group:
            for _ in range(jobs):
                group.create_task(self._work())

    async def _work(self) -> None:
        job = Job(self._place)
        try:
            for seed in self._left:
                result = await job.run(Script.of(seed))
                self.results.append(result)
                done = f"[{len(self.results)}/{self._count}]"
                for line in result.lines():
                    say(f"{done} {line}")
        finally:
            await job.close()

    def summary(self, seconds: float) -> str:
        """One paragraph about all of it."""
        bad = sorted(result.script.seed for result in self.results if not result.good)
        faults = sum(len(result.script.faults) for result in self.results)
        verdict = f"{len(bad)} seeds broke a promise: {bad}" if bad else "no promise was broken"
        return f"{len(self.results)} seeds, {faults} faults, {seconds / 60:.1f} min: {verdict}" + (
            f"\nhistories: {self._place}" if bad else ""
        )


def say(line: str) -> None:
    """Tell it now: who waits for 200 seeds wants to see them go by."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(description="Disturb whole systems at random.")
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--from", "--start", dest="start", type=int, default=1, help="the first")
    parser.add_argument("--jobs", type=int, default=2, help="systems at once")
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="legato-chaos-"))
    campaign = Campaign(range(asked.start, asked.start + asked.seeds), place)
    began = time.monotonic()
    try:
        asyncio.run(campaign.run(asked.jobs))
    except KeyboardInterrupt:
        say("interrupted")
    say(campaign.summary(time.monotonic() - began))
    return 0 if all(result.good for result in campaign.results) else 1


if __name__ == "__main__":
    sys.exit(main())
