"""Many speakers at once: how soon each is heard, and whether any of them falls silent."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from time import perf_counter
from typing import Final

from legato.bench.audience import LEAD, PCM, Audience, Heard, Told
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.crew import crew, outcomes
from legato.bench.machine import busy_seconds, used_seconds
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row, percentile

LATE: Final = 0.025
"""Seconds that a listener may ask late at p99."""

SATURATED: Final = 0.9
"""Share of a core above which a process of listeners says nothing of the server."""

WHO: Final = (
    "The old sailor",
    "My younger sister",
    "Our new neighbour",
    "The station master",
    "A tired doctor",
    "The village baker",
    "Their first teacher",
    "An honest farmer",
)
DID: Final = (
    "walked slowly along",
    "looked for a moment at",
    "wrote a long letter about",
    "found a silver coin beside",
    "left a heavy bag behind",
    "told the children about",
    "took a picture of",
    "waited half an hour before",
)
WHAT: Final = (
    "the harbour wall",
    "the sleeping garden",
    "the last open window",
    "the bridge over the river",
    "the small red house",
    "the road to the mountains",
    "the empty market square",
    "the church on the hill",
)
WHEN: Final = (
    "while the rain came down.",
    "before the train was due.",
    "as the lights went out.",
    "until the music had stopped.",
    "and then went home again.",
    "because nobody else was there.",
    "when the day was nearly over.",
    "without saying a single word.",
)


def sentences(rng: random.Random) -> Iterator[str]:
    """Yield sentences of about 13 words, so many different ones that hardly any comes twice."""
    while True:
        yield " ".join(rng.choice(part) for part in (WHO, DID, WHAT, WHEN))


def story(rng: random.Random, count: int) -> str:
    """Return a text of so many sentences."""
    return " ".join(islice(sentences(rng), count))


def poisson(rng: random.Random, count: int, seconds: float) -> list[float]:
    """Return the instants of a Poisson process, given that `count` of them are in `seconds`."""
    gaps = [rng.expovariate(1.0) for _ in range(count + 1)]
    scale = seconds / sum(gaps)
    return [at * scale for at in accumulate(gaps[:-1])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """A number of speakers at once.

    Attributes:
        name: Of the rows.
        count: Speakers.
        spread: Seconds over which they start; 0 starts all at one moment.
        sentences: Of each, about 4 s long.
        rounds: Times that all of them speak.
        within: Seconds that one round may take.
        processes: Of listeners.
        first: Seconds to the first audio that p99 may be.
        codec: Of the audio.
        held: Seconds that a listener holds its first audio back.
        sample_rate: Hz.
    """

    name: str
    count: int
    spread: float
    sentences: int
    rounds: int
    within: float
    processes: int
    first: float
    codec: str = PCM
    held: float = 0.0
    sample_rate: int = 24_000

    @property
    def figures(self) -> tuple[Figure, Figure, Figure]:
        """First audio, underruns, and what it costs."""
        return (
            Figure(f"{self.name}.first_audio", "s", self.first),
            Figure(f"{self.name}.underruns", "gaps", 0),
            Figure(f"{self.name}.cpu", "cores"),
        )

    def plans(self, address: str, rng: random.Random, *, quick: bool) -> list[Audience]:
        """Deal the speakers of a round to the processes."""
        count = min(self.count, 4) if quick else self.count
        length = 2 if quick else self.sentences
        texts = [story(rng, length) for _ in range(count)]
        starts = poisson(rng, count, self.spread / 4 if quick else self.spread)
        return [
            Audience(
                address=address,
                starts=starts[number :: self.processes],
                texts=texts[number :: self.processes],
                held=self.held,
                codec=self.codec,
                sample_rate=self.sample_rate,
                within=self.within,
            )
            for number in range(min(self.processes, count))
        ]

    async def measure(self, setup: Setup) -> Sequence[Row]:
        """Have all speak, and listen to them in real time."""
        rng = random.Random(8)  # noqa: S311  (texts and moments, not secrets)
        told: list[Told] = []
        cores: list[float] = []
        others: list[float] = []
        async with legato_server() as running:
            await self._round(self.plans(running.address, rng, quick=True))  # warm
            for number in range(setup.times(self.rounds)):
                setup.tell(f"round {number + 1}, {self.count} speakers")
                plans = self.plans(running.address, rng, quick=setup.quick)
                cpu, busy, began = used_seconds(running.pid), busy_seconds(), perf_counter()
                found = await self._round(plans)
                wall = perf_counter() - began
                cores.append((used_seconds(running.pid) - cpu) / wall)
                load = sum(one.cpu for one in found)
                others.append(max(0.0, (busy_seconds() - busy) / wall - cores[-1] - load))
                told += found
        return self.rows(told, cores, others)

    async def _round(self, plans: Sequence[Audience]) -> list[Told]:
        async with crew("legato.bench.audience", plans) as processes:
            return await outcomes(processes, Told, within=LEAD + self.within)

    def rows(
        self, told: Sequence[Told], cores: Sequence[float], others: Sequence[float]
    ) -> list[Row]:
        """Make the rows.

        Args:
            told: By each process of listeners, of all rounds.
            cores: That the server used in each round.
            others: That had no part in it, in each round.
        """
        heard = [one for process in told for one in process.heard]
        load = f"listeners took up to {max(one.cpu for one in told):.2f} of a core each"
        load += f", other work {max(others):.2f} cores"
        if fault := self._fault(heard, told):
            return [figure.missing(f"{fault}; {load}") for figure in self.figures]
        first, underruns, cpu = self.figures
        starts = f"starting within {self.spread:g} s" if self.spread else "starting at one moment"
        length = sum(one.seconds for one in heard) / len(heard)
        about = (
            f"{len(heard)} streams of {length:.0f} s, {starts}, {self.codec}"
            f" at {self.sample_rate} Hz; {load}"
        )
        gaps = sum(one.underruns for one in heard)
        stalled = max(one.stalled for one in heard)
        silent = sum(one.underruns > 0 for one in heard)
        held = f"played {self.held * 1e3:.0f} ms after the first audio" if self.held else ""
        note = (
            f"of {silent} streams, longest {stalled:.2f} s in all;"
            f" {held or 'played from the first audio on'}"
        )
        return [
            first.of([one.first or 0.0 for one in heard], 0.99, note=f"p99; {about}"),
            underruns.row(gaps, n=len(heard), note=note),
            cpu.of(cores, note="server and engines, mean of a round"),
        ]

    @staticmethod
    def _fault(heard: Sequence[Heard], told: Sequence[Told]) -> str:
        """Say why this is no measurement, or what failed."""
        failed = [one.fault for one in heard if one.fault or one.first is None]
        if failed:
            return f"{len(failed)} of {len(heard)} streams failed: {failed[0] or 'no audio came'}"
        late = percentile([one.late for one in heard], 0.99)
        busiest = max(one.cpu for one in told)
        if late > LATE or busiest > SATURATED:
            return (
                f"invalid: listeners asked up to {late * 1e3:.1f} ms late"
                f" (above {LATE * 1e3:g}) or took {busiest:.2f} of a core"
            )
        return ""


def _benchmark(speakers: Speakers, about: str, *, named_only: bool = False) -> Benchmark:
    run: Callable[[Setup], Awaitable[Sequence[Row]]] = speakers.measure
    return Benchmark(
        name=speakers.name,
        about=about,
        figures=speakers.figures,
        run=run,
        timeout=180.0,
        named_only=named_only,
    )


EIGHT: Final = Speakers(
    name="speakers.8",
    count=8,
    spread=0.0,
    sentences=3,
    rounds=5,
    within=25.0,
    processes=1,
    first=0.4,
)


def _steady(count: int, codec: str) -> Speakers:
    return Speakers(
        name=f"speakers.{count}.{'pcm' if codec == PCM else codec}",
        count=count,
        spread=10.0,
        sentences=13,
        rounds=1,
        within=85.0,
        processes=2,
        first=1.0,
        codec=codec,
        sample_rate=24_000,
    )


BENCHMARKS = (
    _benchmark(EIGHT, "8 speakers at once: first audio, and gaps while they play."),
    _benchmark(_steady(64, PCM), "64 speakers, starting within 10 s, each for a minute."),
    *(
        _benchmark(_steady(count, "opus"), f"{count} of them with Opus.", named_only=True)
        for count in (32, 48, 64)
    ),
)
