"""Write what the sound of the browser's client must compute as Python does.

`--check` only compares. From the root of the checkout: `python -m scripts.write_sound_vectors`.
"""

from __future__ import annotations

import io
import json
import random
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from legato.cli.subtitles import VTT_HEADER, Cue, split, srt_cue, vtt_cue
from legato.flow.start import CAREFUL_RISK, RISK, AdaptiveStart, Arrivals
from scripts.writing import ROOT, write

VECTORS: Final = ROOT / "tests" / "vectors"

SAMPLE_RATE: Final = 16_000
FRAME: Final = 320

TEXTS: Final = (
    "The harbour was quiet.",
    "The harbour was quiet that morning and only a few gulls were up before the boats came in.",
    "a < b & c > d --> e",
    "first line\n\n  second   line\t\ttabbed\r\nthird",
    "well-known mother-in-law state-of-the-art-and-then-some twenty-two x-ray e-mail re-re-record",
    "a dash--between words -- and ----- alone, and one that ends --",
    "https://example.org/a-very-long-path/that-does-not-fit/on-any-line/at-all.html is an address",
    "-" * 60 + "x" * 60,
    "港口那天早晨很安静，船只进港之前只有几只海鸥在飞。" * 4,
    "Ünïcödé wörds ſtraße Ångström-Einheit größer–kleiner … “quoted” naïve-café",
    "emoji 😀 count as one 👩‍🚀 and 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 letters beyond sixteen bits, of which there are more",
    "no\u00a0break and\u3000wide and\u2028line separators",
    "  leading and trailing   ",
    "word " * 40,
    "",
    " \t ",
)


def files() -> dict[Path, str]:
    """Every file of vectors and what it must hold."""
    return {
        VECTORS / "start.json": _json(start_vectors(), indent=None),
        VECTORS / "subtitles.json": _json(subtitle_vectors(), indent=2),
        VECTORS / "wav.json": _json(wav_vectors(), indent=2),
    }


def _json(vectors: dict[str, object], *, indent: int | None) -> str:
    return json.dumps(vectors, indent=indent, ensure_ascii=False) + "\n"


def start_vectors() -> dict[str, object]:
    """Arrivals of utterances, and the depth that holds after each frame and each utterance."""
    expectations = (
        {"lead": True, "round_trip": 0.0, "risk": RISK},
        {"lead": False, "round_trip": 0.0625, "risk": RISK},
        {"lead": False, "round_trip": 0.25, "risk": CAREFUL_RISK},
    )
    cases = []
    for number, expected in enumerate(expectations):
        start = AdaptiveStart(
            lead=bool(expected["lead"]),
            round_trip=float(expected["round_trip"]),
            risk=float(expected["risk"]),
        )
        before = start.depth()
        utterances = [_utterance(start, arrivals) for arrivals in _networks(number)]
        cases.append({**expected, "before": before, "utterances": utterances})
    return {
        "about": "Arrivals ([sample, instant]) of utterances in turn at `sample_rate`; `depths`"
        " after each of them, `required_delay` and `rate` (null: unknown) at the end of each"
        " utterance, `depth` after it was learned. `guarded`: depth of a new estimator at a rate"
        " and with so many seconds remaining.",
        "sample_rate": SAMPLE_RATE,
        "cases": cases,
        "guarded": [
            {"rate": rate, "remaining": remaining, "depth": AdaptiveStart().depth(rate, remaining)}
            for rate in (0.0, 0.5, 0.9, 0.97, 1.0, 4.0)
            for remaining in (0.0, 0.5, 3.0, 30.0)
        ],
    }


def _networks(number: int) -> Iterator[list[tuple[int, float]]]:
    draw = random.Random(number)  # noqa: S311  (a network, not a secret)
    at = 10.0
    for _ in range(6):
        pace, jitter = draw.choice((0.0, 0.7, 1.0, 1.3)), draw.choice((0.0, 0.01, 0.3))
        arrivals: list[tuple[int, float]] = []
        latest = at
        for frame in range(draw.randint(1, 40)):
            due = at + frame * pace * FRAME / SAMPLE_RATE + draw.expovariate(1) * jitter
            latest = max(latest, due)
            arrivals.append((frame * FRAME, round(latest, 6)))
        yield arrivals
        at = latest + draw.choice((0.1, 3.0))


def _utterance(start: AdaptiveStart, frames: list[tuple[int, float]]) -> dict[str, object]:
    arrivals = Arrivals(SAMPLE_RATE)
    depths = []
    for sample, now in frames:
        arrivals.add(sample, now)
        depths.append(start.depth(arrivals.rate))
    start.learn(arrivals.required_delay)
    return {
        "arrivals": frames,
        "depths": depths,
        "required_delay": arrivals.required_delay,
        "rate": None if arrivals.rate == float("inf") else arrivals.rate,
        "depth": start.depth(),
    }


def subtitle_vectors() -> dict[str, object]:
    """Texts with their times, and the files that they become."""
    texts = []
    begin = 0.0
    for number, text in enumerate(TEXTS):
        cue = Cue(begin, begin + 1.0625 + number / 3, text)
        texts.append(cue)
        begin = cue.end + 59.9995
    texts.append(Cue(3_599.9995, 360_000.0005, "across the hours"))
    cues = [cue for text in texts for cue in split(text)]
    return {
        "about": "Texts and their times in seconds; the SubRip and WebVTT files of all of them.",
        "texts": [{"start": cue.start, "end": cue.end, "text": cue.text} for cue in texts],
        "srt": "".join(srt_cue(number, cue) for number, cue in enumerate(cues, 1)),
        "vtt": VTT_HEADER + "".join(map(vtt_cue, cues)),
    }


def wav_vectors() -> dict[str, object]:
    """Samples, and the file that Python's `wave` makes of them."""
    samples = [0, 1, -1, 32_767, -32_768, 1_234]
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(44_100)
        writer.writeframes(b"".join(value.to_bytes(2, "little", signed=True) for value in samples))
    return {
        "about": "Samples of one channel and the bytes (hex) of their WAV file.",
        "sample_rate": 44_100,
        "samples": samples,
        "hex": file.getvalue().hex(),
    }


if __name__ == "__main__":
    sys.exit(write(files(), __doc__))
