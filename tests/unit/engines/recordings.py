"""Recorded speech for the tests of recognizers."""

import importlib.util
import wave
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_float

FORMAT = AudioFormat(16_000)
LIBRIVOX = Path("/usr/share/pocketsphinx/test/data/librivox")
"""Five clips of Jane Austen, read by a volunteer; Debian's pocketsphinx-testdata."""


@lru_cache
def beckett_pcm() -> bytes:
    """Six short sentences in ten seconds; the recording comes with the voices extra."""
    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    resampler = av.AudioResampler(format="s16", layout="mono", rate=FORMAT.sample_rate)
    with av.open(Path(spec.origin).parent / "assets" / "beckett.wav") as file:
        frames = [*file.decode(audio=0), None]
        parts = [part for frame in frames for part in resampler.resample(frame)]
    return b"".join(part.to_ndarray().tobytes() for part in parts)


def beckett() -> NDArray[np.float32]:
    """The same as samples in [-1, 1)."""
    return to_float(beckett_pcm())


def librivox() -> Iterator[tuple[str, bytes, str]]:
    """Name, samples and text of each clip."""
    for line in (LIBRIVOX / "transcription").read_text().splitlines():
        text, _, name = line.rpartition("(")
        stem = name.strip(") ")
        with wave.open(str(LIBRIVOX / f"{stem}.wav")) as file:
            pcm = file.readframes(file.getnframes())
        yield stem, pcm, text.replace("<s>", "").replace("</s>", "").strip()


def chunks(pcm: bytes, seconds: float = 0.1) -> Iterator[AudioChunk]:
    """Audio in chunks, as a worker hands it over."""
    size = FORMAT.frame_bytes(seconds)
    for at in range(0, len(pcm), size):
        yield AudioChunk(pcm[at : at + size], FORMAT, at // FORMAT.sample_bytes)
