"""Measure the embedded engines alone: time to first audio, real-time factor, decode cost, memory.

    python scripts/measure_engines.py
    python scripts/measure_engines.py faster-whisper model=models/faster-whisper-tiny.en threads=1

Prints the tables of docs/engines.md, or that of one recognizer with its options. Each engine runs
in a process of its own. The recognizer hears the LibriVox clips of Debian's `pocketsphinx-testdata`
at the speed of speech.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import resource
import statistics
import sys
import time
import wave
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jiwer

from legato.audio import AudioChunk, AudioFormat, to_float
from legato.engines.base import EngineKind
from legato.engines.moonshine_model import MoonshineModel
from legato.engines.registry import create
from legato.engines.silero import WINDOW, Silero, SpeechProbability
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript

CLIPS = Path("/usr/share/pocketsphinx/test/data/librivox")
SENTENCE = (
    "The quick brown fox jumps over the lazy dog while the old man reads his newspaper"
    " under a tall green tree."
)
ROUNDS = 30
CHUNK = 0.1


def main() -> None:
    """Run each measurement in a fresh process and print its rows."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, {platform.platform()}, load {load}\n")
    context = multiprocessing.get_context("spawn")
    parts: list[Callable[[], None]] = [
        synthesis("hibari"),
        synthesis("espeak"),
        decoding,
        recognition("moonshine", {}),
    ]
    if len(sys.argv) > 1:
        pairs = (argument.partition("=") for argument in sys.argv[2:])
        parts = [recognition(sys.argv[1], {name: json_or_text(value) for name, _, value in pairs})]
    for part in parts:
        process = context.Process(target=part)
        process.start()
        process.join(600)
        print(flush=True)


class synthesis:  # noqa: N801 - used as a function that can be pickled
    """Time to first audio and real-time factor of a synthesizer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> None:
        engine = create(EngineKind.SYNTHESIZE, self.name)
        load = seconds(engine.load)
        request = SynthesisRequest(format=engine.info.format or AudioFormat(24_000))
        first: list[float] = []
        whole: list[float] = []
        audio = 0.0
        for _ in range(ROUNDS):
            start = time.perf_counter()
            chunks = engine.synthesize(request, [SENTENCE])
            audio = next(chunks).duration
            first.append(time.perf_counter() - start)
            audio += sum(chunk.duration for chunk in chunks)
            whole.append(time.perf_counter() - start)
        rows(
            (f"{self.name}: load and warm up", f"{load:.2f} s"),
            (f"{self.name}: first audio, 21 words, p50 / max", spread(first)),
            (f"{self.name}: real-time factor", f"{statistics.median(whole) / audio:.4f}"),
            (f"{self.name}: memory, peak", memory()),
        )


def decoding() -> None:
    """Cost of one decode by length of the audio, and of one window of voice activity."""
    model, vad = MoonshineModel(), SpeechProbability(Silero())
    clip = to_float(pcm(next(CLIPS.glob("*0870.wav"))))
    for length in (1, 2, 3, 5, 7):
        audio = clip[: length * 16_000]
        draft = model.transcribe(audio[: -8_000 or None]).tokens
        alone = [seconds(partial(model.transcribe, audio)) for _ in range(10)]
        drafted = [seconds(partial(model.transcribe, audio, draft)) for _ in range(10)]
        best = f"{min(alone) * 1e3:.0f} / {min(drafted) * 1e3:.0f} ms"
        usual = f"{ms(alone)} / {ms(drafted)}"
        rows((f"moonshine: decode {length} s, final / partial", f"{best} at best, p50 {usual}"))
    windows = [seconds(lambda: vad.accept(clip[:WINDOW])) for _ in range(300)]
    rows(("silero: a window of 32 ms", f"{statistics.median(windows) * 1e6:.0f} us"))


class recognition:  # noqa: N801 - used as a function that can be pickled
    """Latency and errors of the clips, fed at the speed of speech."""

    def __init__(self, name: str, options: dict[str, object]) -> None:
        self.name = name
        self.options = options

    def __call__(self) -> None:
        engine = create(EngineKind.RECOGNIZE, self.name, self.options)
        load = seconds(engine.load)
        first: list[float] = []
        latencies: dict[float, list[float]] = {0.0: [], 1.0: []}
        errors: list[str] = []
        words, cpu, audio = 0, 0.0, 0.0
        for path in sorted(CLIPS.glob("*.wav")):
            for tail, late in latencies.items():
                data = pcm(path) + bytes(round(32_000 * tail))
                feed = Feed(data)
                start, used = time.monotonic(), time.process_time()
                text, latency = [], 0.0
                shown = 0.0
                for result in engine.recognize(RecognitionRequest(format=Feed.FORMAT), feed):
                    if not isinstance(result, Transcript):
                        continue
                    shown = shown or time.monotonic() - start - result.start / 16_000
                    if result.final:
                        text.append(result.text)
                        latency = time.monotonic() - feed.given
                cpu, audio = cpu + time.process_time() - used, audio + len(data) / 32_000
                late.append(latency)
                first.append(shown)
                if not tail:
                    wrong, count = word_errors(path, " ".join(text))
                    errors, words = errors + wrong, words + count
        rows(
            (f"{self.name}: load and warm up", f"{load:.2f} s"),
            (f"{self.name}: speech begins → first partial, p50 / max", spread(first)),
            (f"{self.name}: end of audio → final, p50 / max", spread(latencies[0.0])),
            (f"{self.name}: silence long enough → final, p50 / max", spread(latencies[1.0])),
            (f"{self.name}: CPU per second of audio, with partials", f"{cpu / audio:.3f} s"),
            (f"{self.name}: word errors", f"{len(errors)} of {words}: {'; '.join(errors)}"),
            (f"{self.name}: memory, peak", memory()),
        )


class Feed:
    """Audio at the speed of speech; remembers when the last chunk was asked for and given."""

    FORMAT = AudioFormat(16_000)

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.given = 0.0

    def __iter__(self) -> Iterator[AudioChunk]:
        size = self.FORMAT.frame_bytes(CHUNK)
        start = time.monotonic()
        for number, at in enumerate(range(0, len(self.data), size), 1):
            due = start + number * CHUNK
            time.sleep(max(0.0, due - time.monotonic()))
            self.given = due
            yield AudioChunk(self.data[at : at + size], self.FORMAT)


def json_or_text(value: str) -> object:
    """Return what an option's value says: JSON, or else itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def word_errors(path: Path, text: str) -> tuple[list[str], int]:
    """Return each error, and the number of words that were said."""
    line = next(
        line for line in (CLIPS / "transcription").read_text().splitlines() if path.stem in line
    )
    said = line.split("<s>")[1].split("</s>")[0].split()
    heard = re.sub(r"\bmr\b", "mister", re.sub(r"[^a-z' ]", " ", text.lower())).split()
    output = jiwer.process_words(" ".join(said), " ".join(heard))
    return [
        f"{part.type} “{' '.join(said[part.ref_start_idx : part.ref_end_idx])}” →"
        f" “{' '.join(heard[part.hyp_start_idx : part.hyp_end_idx])}”"
        for part in output.alignments[0]
        if part.type != "equal"
    ], len(said)


def pcm(path: Path) -> bytes:
    """Return the samples of a 16 kHz mono WAVE file."""
    with wave.open(str(path)) as file:
        return bytes(file.readframes(file.getnframes()))


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ms(times: list[float]) -> str:
    """Return the median in milliseconds."""
    return f"{statistics.median(times) * 1e3:.0f} ms"


def spread(times: list[float]) -> str:
    """Return median and maximum in milliseconds."""
    return f"{ms(times)} / {max(times) * 1e3:.0f} ms"


def memory() -> str:
    """Return the peak resident memory of this process."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"


def rows(*pairs: tuple[str, str]) -> None:
    """Print rows of a Markdown table."""
    for name, value in pairs:
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
