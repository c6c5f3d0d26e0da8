"""Speech to recognise: read from Debian's test data, or spoken by the system itself."""

from __future__ import annotations

import re
import wave
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato.client.client import Client

SAMPLE_RATE = 16_000
LIBRIVOX = Path("/usr/share/pocketsphinx/test/data/librivox")
NO_LIBRIVOX = (
    "the LibriVox clips are not here: install pocketsphinx-testdata (apt-get), as `make bench` does"
)

PACE = 1000.0
_LINE = re.compile(r"<s> (?P<text>.*) </s> \((?P<name>[\w-]+)\)")
_STEP = SAMPLE_RATE // 100
_QUIET = 10 ** (-45 / 20)


@dataclass(frozen=True, slots=True)
class Clip:
    """Some seconds of speech.

    Attributes:
        name: Of the file, or what it says.
        text: What is said.
        pcm: 16 kHz mono, s16le.
    """

    name: str
    text: str
    pcm: bytes

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.pcm) / 2 / SAMPLE_RATE


def librivox(folder: Path = LIBRIVOX) -> list[Clip]:
    """Read the clips of the package, with what is said in them.

    Raises:
        FileNotFoundError: If the package is not installed.
    """
    clips = []
    for line in (folder / "transcription").read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            pcm = _read(folder / f"{match['name']}.wav")
            clips.append(Clip(match["name"].rpartition("-")[2], match["text"], pcm))
    return clips


def _read(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (SAMPLE_RATE, 1, 2):
            raise ValueError(f"{path.name} is not 16 kHz mono of 16 bits")
        pcm: bytes = file.readframes(file.getnframes())
    return pcm


async def spoken(client: Client, text: str) -> Clip:
    """Have `text` spoken, without the silence after it: where the clip ends, the speech ends."""
    chunks: AsyncIterator[bytes] = (
        chunk.pcm async for chunk in client.speak(text, sample_rate=SAMPLE_RATE, pace=PACE)
    )
    pcm = b"".join([pcm async for pcm in chunks])
    return Clip(text, text, without_tail(pcm))


def without_tail(pcm: bytes) -> bytes:
    """Cut off what comes after the last 10 ms above -45 dB of full scale."""
    samples: NDArray[np.float64] = np.frombuffer(pcm, "<i2") / 32768
    steps = len(samples) // _STEP
    power = np.square(samples[: steps * _STEP]).reshape(steps, _STEP).mean(axis=1)
    loud = np.flatnonzero(power > _QUIET**2)
    end = (int(loud[-1]) + 1) * _STEP if len(loud) else 0
    return pcm[: end * 2]


def hush(seconds: float) -> bytes:
    """Return what a microphone hears when nobody speaks: noise of a few steps, always the same."""
    noise = np.random.default_rng(0).integers(-8, 9, round(seconds * SAMPLE_RATE), dtype="<i2")
    return noise.tobytes()
