"""Recognition: how long until the final text is there, and how many words are wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import legato
from legato.bench.alignment import word_errors, words_of
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.clips import NO_LIBRIVOX, SAMPLE_RATE, Clip, hush, librivox, spoken
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row
from legato.client.client import Client
from legato.speech import Endpointing, Transcript

RUNS = 20
SILENCE = 0.5
PAUSE = 1.5
"""Seconds between segments: the silence that ends one, and time for its text."""

FRAME = 0.02
FRAME_BYTES = round(FRAME * SAMPLE_RATE) * 2
LONGEST = 7.0
"""Seconds of a segment at the most, for which the bound is given."""

SENTENCES = (
    "The train was late again, but nobody seemed to mind.",
    "There is fresh bread on the table and soup in the kitchen.",
    "He closed the heavy door behind him and walked down to the river without looking back.",
    "Could you please send me the report before the end of the week?",
    (
        "A small light moved across the hill, vanished behind the trees, and appeared again"
        " near the church."
    ),
    "I will call you tomorrow.",
)

FINAL_P50 = Figure("listen.final.p50", "s", 0.250)
FINAL_P99 = Figure("listen.final.p99", "s", 0.500)
ENDPOINT_P50 = Figure("listen.endpoint.p50", "s", 0.250)
ENDPOINT_P99 = Figure("listen.endpoint.p99", "s", 0.500)
ERRORS = Figure("listen.word_errors", "errors", 5)

SHARE = 0.03
"""Share of the words that may be wrong, where that is more than the figure's bound."""


class Microphone:
    """PCM as a microphone gives it: each 20 ms when they are over.

    Args:
        pcm: What it hears.
    """

    def __init__(self, pcm: bytes) -> None:
        self._pcm = pcm
        self._began = 0.0

    @property
    def ended_at(self) -> float:
        """When the last frame was due, on the clock of `perf_counter`."""
        return self.due(len(self._pcm) // 2)

    def due(self, sample: int) -> float:
        """When `sample` is heard."""
        return self._began + sample / SAMPLE_RATE

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield the frames in time."""
        self._began = perf_counter()
        for start in range(0, len(self._pcm), FRAME_BYTES):
            frame = self._pcm[start : start + FRAME_BYTES]
            await asyncio.sleep(self.due((start + len(frame)) // 2) - perf_counter())
            yield frame


@dataclass(slots=True)
class Delays:
    """Seconds from where the text could be final to where it was.

    Attributes:
        seconds: One for each segment.
        silent: Segments without a final text.
    """

    seconds: list[float] = field(default_factory=list)
    silent: int = 0


async def measure_finals(setup: Setup) -> list[Row]:
    """Send segments in real time, ended by the stream's end, then by silence."""
    runs = setup.times(RUNS, 2)
    async with legato_server() as running, legato.connect(running.url) as client:
        setup.tell("speaking the segments")
        clips = [await spoken(client, text) for text in SENTENCES]
        clips = [clip for clip in clips if clip.seconds <= LONGEST]
        turns = [clips[number % len(clips)] for number in range(runs)]
        await at_end(client, turns[:1], setup)  # warm
        ended = await at_end(client, turns, setup)
        setup.tell(f"{runs} segments ended by silence, in one stream")
        paused = await at_silence(client, turns)
    length = f"{min(c.seconds for c in clips):.1f} to {max(c.seconds for c in clips):.1f} s"
    note = f"segments of {length} in real time, from the end of the stream"
    rows = _rows(FINAL_P50, FINAL_P99, ended, note)
    note = f"the same segments in one stream, from {SILENCE:g} s of silence after each"
    return rows + _rows(ENDPOINT_P50, ENDPOINT_P99, paused, note)


def _rows(p50: Figure, p99: Figure, delays: Delays, note: str) -> list[Row]:
    if delays.silent:
        why = f"invalid: {delays.silent} segments gave no final text"
        return [p50.missing(why), p99.missing(why)]
    samples = delays.seconds
    return [p50.of(samples, 0.5, note=note), p99.of(samples, 0.99, note=note)]


async def at_end(client: Client, clips: Sequence[Clip], setup: Setup) -> Delays:
    """Recognise each clip in a stream of its own and measure from its end."""
    delays = Delays()
    for number, clip in enumerate(clips):
        setup.tell(f"segment {number + 1} of {len(clips)}, ended by the stream's end")
        microphone = Microphone(clip.pcm)
        final: float | None = None
        async for transcript in client.listen(microphone.frames()):
            if transcript.final and transcript.text:
                final = perf_counter()
        if final is None:
            delays.silent += 1
        else:
            delays.seconds.append(final - microphone.ended_at)
    return delays


async def at_silence(client: Client, clips: Sequence[Clip]) -> Delays:
    """Recognise all clips in one stream, a pause after each, and measure from the endpoint."""
    pause = hush(PAUSE)
    microphone = Microphone(b"".join(clip.pcm + pause for clip in clips))
    listening = client.listen(microphone.frames(), endpointing=Endpointing(silence=SILENCE))
    finals = [(text, perf_counter()) async for text in listening if text.final and text.text]
    return after_silence(clips, finals, microphone)


def after_silence(
    clips: Sequence[Clip], finals: Sequence[tuple[Transcript, float]], microphone: Microphone
) -> Delays:
    """Give each clip the last text that begins within it."""
    delays = Delays()
    sample = 0
    for clip in clips:
        over = sample + len(clip.pcm) // 2
        times = [at for text, at in finals if sample <= text.start < over]
        if times:
            delays.seconds.append(times[-1] - microphone.due(over) - SILENCE)
        else:
            delays.silent += 1
        sample = over + round(PAUSE * SAMPLE_RATE)
    return delays


async def measure_errors(setup: Setup) -> list[Row]:
    """Recognise the LibriVox clips and list what is wrong."""
    try:
        clips = librivox()
    except FileNotFoundError:
        return [ERRORS.missing(NO_LIBRIVOX)]
    words = 0
    errors: list[str] = []
    async with legato_server() as running, legato.connect(running.url) as client:
        for clip in clips:
            setup.tell(f"clip {clip.name}")
            texts = [text.text async for text in client.listen(clip.pcm) if text.final]
            said = words_of(clip.text)
            words += len(said)
            found = word_errors(said, words_of(" ".join(texts)))
            errors.extend(f"{clip.name}: {error}" for error in found)
    limit = max(ERRORS.bound or 0.0, SHARE * words)
    listed = "; ".join(errors) or "none"
    note = f"{len(clips)} clips, {words} words, {len(errors) / words:.1%} wrong: "
    return [ERRORS.row(len(errors), n=words, bound=limit, note=note + listed)]


BENCHMARKS = (
    Benchmark(
        name="listen.final",
        about="End of speech to final text, by the stream's end and by silence.",
        figures=(FINAL_P50, FINAL_P99, ENDPOINT_P50, ENDPOINT_P99),
        run=measure_finals,
        timeout=360.0,
    ),
    Benchmark(
        name="listen.word_errors",
        about="Word errors on five LibriVox clips, through the whole system.",
        figures=(ERRORS,),
        run=measure_errors,
    ),
)
