"""Many live recognitions at once: how soon finals come, how often partials, and what is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import legato
from legato.bench.alignment import word_errors, words_of
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.clips import NO_LIBRIVOX, SAMPLE_RATE, Clip, hush, librivox
from legato.bench.crew import crew, outcomes
from legato.bench.machine import busy_seconds, used_seconds
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row
from legato.bench.stack import folder
from legato.bench.talkers import END_TIMEOUT, LEAD, Notes, Talk, Written
from legato.speech import Endpointing

SILENCE: Final = 0.5
PAUSE: Final = 1.2
"""Seconds between utterances: the silence that ends one, and time for its text."""

APART: Final = 0.37
"""Seconds from one talker's beginning to the next one's, so that not all end at the same time."""

LATE: Final = 0.050
"""Seconds that frames may be late at p99."""

TOGETHER: Final = ((0, 1), (2,), (3, 4))
"""Clips that are said without a pause: 10, 5 and 9 s, so that one is longer than the cap."""

SPARSE: Final = 2.0
"""Seconds of speech for each partial, above which a stream must have been told."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What one talker says.

    Attributes:
        utterances: In their order, a pause after each.
    """

    utterances: tuple[Clip, ...]

    @property
    def pcm(self) -> bytes:
        """All of it."""
        pause = hush(PAUSE)
        return b"".join(clip.pcm + pause for clip in self.utterances)

    @property
    def seconds(self) -> float:
        """Of speech, pauses left out."""
        return sum(clip.seconds for clip in self.utterances)

    @property
    def words(self) -> list[str]:
        """What is said."""
        return words_of(" ".join(clip.text for clip in self.utterances))

    def places(self) -> list[tuple[int, int]]:
        """Return the first sample of each utterance, and the one after its last."""
        places, sample = [], 0
        for clip in self.utterances:
            places.append((sample, sample + len(clip.pcm) // 2))
            sample = places[-1][1] + round(PAUSE * SAMPLE_RATE)
        return places


def utterances(clips: Sequence[Clip]) -> list[Clip]:
    """Join the clips of `TOGETHER`."""
    joined = []
    for numbers in TOGETHER:
        parts = [clips[number] for number in numbers]
        text = " ".join(part.text for part in parts)
        joined.append(Clip(text, text, b"".join(part.pcm for part in parts)))
    return joined


def speeches(clips: Sequence[Clip], count: int, rounds: int) -> list[Speech]:
    """Give each talker the same utterances, each beginning with another one."""
    joined = utterances(clips)
    turned = [joined[at:] + joined[:at] for at in range(len(joined))]
    return [Speech(tuple(turned[number % len(joined)]) * rounds) for number in range(count)]


def delays(speech: Speech, notes: Notes) -> list[float]:
    """Return, of each utterance with a text, the seconds from its end by silence to its last final.

    It ends `SILENCE` after its last sample.
    """
    found = []
    for start, end in speech.places():
        times = [line.at for line in notes.lines if line.final and start <= line.start < end]
        if times:
            found.append(times[-1] - end / SAMPLE_RATE - SILENCE)
    return found


def uncovered(speech: Speech, notes: Notes) -> int:
    """Count the utterances of which half or more of the words have not become final."""
    lost = 0
    for (start, end), clip in zip(speech.places(), speech.utterances, strict=True):
        lines = [line for line in notes.lines if line.final and start <= line.start < end]
        said = words_of(clip.text)
        errors = word_errors(said, words_of(" ".join(line.text for line in lines)))
        missing = sum(error.startswith("missing ") for error in errors)
        lost += not lines or missing * 2 >= len(said)
    return lost


def missing_words(speech: Speech, notes: Notes) -> int:
    """Count the words of the speech that no final has."""
    finals = " ".join(line.text for line in notes.lines if line.final)
    errors = word_errors(speech.words, words_of(finals))
    return sum(error.startswith("missing ") for error in errors)


def per_partial(speech: Speech, notes: Notes) -> float:
    """Return the seconds of speech for each partial."""
    partials = sum(not line.final for line in notes.lines)
    return speech.seconds / max(partials, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """A number of live recognitions at once.

    Attributes:
        name: Of the rows.
        count: Recognitions.
        rounds: Times that each hears all utterances.
        final: Seconds that p99 of the finals may take, or None.
        interval: Seconds of speech for each partial of the worst stream at the most, or None.
    """

    name: str
    count: int
    rounds: int
    final: float | None
    interval: float | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Delay of finals, seconds for each partial, what is lost, what was not told, and cost."""
        return (
            Figure(f"{self.name}.final", "s", self.final),
            Figure(f"{self.name}.partial_every", "s", self.interval),
            Figure(f"{self.name}.lost", "finals", 0),
            Figure(f"{self.name}.missing", "words"),
            Figure(f"{self.name}.untold", "streams", 0),
            Figure(f"{self.name}.cpu", "cores"),
        )

    async def measure(self, setup: Setup) -> Sequence[Row]:
        """Have all talk at the same time, after one of them alone, whose text is compared."""
        try:
            clips = librivox()
        except FileNotFoundError:
            return [figure.missing(NO_LIBRIVOX) for figure in self.figures]
        count = 3 if setup.quick else self.count
        spoken = speeches(clips, count, setup.times(self.rounds))
        async with legato_server() as running, folder() as place:
            setup.tell("one alone")
            alone = await _missing_alone(running.url, spoken[0])
            setup.tell(f"{count} at once")
            cpu, busy, began = used_seconds(running.pid), busy_seconds(), perf_counter()
            written = await self._talk(running.address, spoken, place)
            wall = perf_counter() - began
            cores = (used_seconds(running.pid) - cpu) / wall
            load = written.cpu
            others = max(0.0, (busy_seconds() - busy) / wall - cores - load)
        about = f"{load:.2f} cores for the talkers, {others:.2f} for other work"
        return self.rows(spoken, written, alone=alone, cores=cores, about=about)

    async def _talk(self, address: str, spoken: Sequence[Speech], place: Path) -> Written:
        paths = []
        for number, speech in enumerate(spoken):
            path = place / f"{number}.raw"
            await asyncio.to_thread(path.write_bytes, speech.pcm)
            paths.append(str(path))
        starts = [APART * number for number in range(len(spoken))]
        plan = Talk(address=address, paths=paths, starts=starts, silence=SILENCE)
        length = max(len(speech.pcm) / 2 / SAMPLE_RATE for speech in spoken)
        within = LEAD + starts[-1] + length + END_TIMEOUT
        async with crew("legato.bench.talkers", [plan]) as processes:
            (written,) = await outcomes(processes, Written, within=within)
        return written

    def rows(
        self,
        spoken: Sequence[Speech],
        written: Written,
        *,
        alone: float,
        cores: float,
        about: str,
    ) -> list[Row]:
        """Make the rows.

        Args:
            spoken: What each talker said.
            written: What was written down of it.
            alone: Share of its words that a talker alone misses.
            cores: That the server used.
            about: The load, for the notes.
        """
        pairs = list(zip(spoken, written.notes, strict=True))
        final, interval, lost, missing, untold, cpu = self.figures
        if fault := _fault(written):
            return [figure.missing(f"{fault}; {about}") for figure in self.figures]
        waits = [wait for speech, notes in pairs for wait in delays(speech, notes)]
        if not waits:
            return [figure.missing(f"no final came; {about}") for figure in self.figures]
        every = [per_partial(speech, notes) for speech, notes in pairs]
        total = sum(len(speech.utterances) for speech in spoken)
        words = sum(len(speech.words) for speech in spoken)
        gone = sum(missing_words(speech, notes) for speech, notes in pairs)
        what = f"{len(pairs)} streams of {spoken[0].seconds:.0f} s of LibriVox in real time"
        share = f"{gone / words:.1%} of {words}; alone it misses {alone:.1%}"
        return [
            final.of(waits, 0.99, note=f"p99, from {SILENCE:g} s of silence; {what}; {about}"),
            interval.of(every, 1.0, note="seconds of speech for each partial, of the worst stream"),
            lost.row(
                sum(uncovered(speech, notes) for speech, notes in pairs),
                n=total,
                note="utterances of which half or more has not become final",
            ),
            missing.row(gone, n=words, note=share),
            _untold(untold, every, written.notes),
            cpu.row(cores, note="server and engines"),
        ]


def _untold(figure: Figure, every: Sequence[float], notes: Sequence[Notes]) -> Row:
    """Count the streams with few partials that nobody told so."""
    told = ["degraded" in one.notices for one in notes]
    sparse = [pace > SPARSE for pace in every]
    note = (
        f"streams with less than a partial in {SPARSE:g} s that were not told;"
        f" {sum(told)} were told that they are degraded, {sum(sparse)} had so few"
    )
    count = sum(few and not said for few, said in zip(sparse, told, strict=True))
    return figure.row(count, n=len(notes), note=note)


def _fault(written: Written) -> str:
    failed = [notes.fault for notes in written.notes if notes.fault]
    if failed:
        return f"{len(failed)} of {len(written.notes)} streams failed: {failed[0]}"
    late = max(notes.late for notes in written.notes)
    if late > LATE:
        return f"invalid: the microphones were late by {late * 1e3:.0f} ms at p99"
    return ""


async def _missing_alone(url: str, speech: Speech) -> float:
    """Return the share of the words that are missed when one stream is heard alone."""
    async with legato.connect(url) as client:
        listening = client.listen(speech.pcm, endpointing=Endpointing(silence=SILENCE))
        finals = [text.text async for text in listening if text.final]
    errors = word_errors(speech.words, words_of(" ".join(finals)))
    return sum(error.startswith("missing ") for error in errors) / len(speech.words)


def _benchmark(listeners: Listeners, about: str) -> Benchmark:
    run: Callable[[Setup], Awaitable[Sequence[Row]]] = listeners.measure
    return Benchmark(
        name=listeners.name, about=about, figures=listeners.figures, run=run, timeout=200.0
    )


BENCHMARKS = (
    _benchmark(
        Listeners(name="listeners.8", count=8, rounds=2, final=1.0, interval=2.0),
        "8 live recognitions at once: delay of finals, and partials while they speak.",
    ),
    _benchmark(
        Listeners(name="listeners.16", count=16, rounds=2, final=None, interval=None),
        "16 live recognitions at once: no final is lost, and degradation is told.",
    ),
)
