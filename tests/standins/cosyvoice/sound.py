"""What the stand-in's voice sounds like, and how a test reads it back.

Each speech token is 40 ms: a low tone that counts the tokens of a text, and a high one that tells
whose text it is. Both are multiples of 25 Hz, so that each token holds whole periods.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TOKEN_SECONDS = 0.04
TOKENS_PER_CHARACTER = 3
COUNTS = 64
STEP_HZ = 25
LOW_HZ = 300
HIGH_HZ = 3_000
LOUDNESS = 0.25
HIGH_LOUDNESS = 0.05

Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SpeechToken:
    """One token: the `count`-th of the text that `owner` stands for."""

    count: int
    owner: int


def tokens(text: str, start: int = 0) -> list[SpeechToken]:
    """The tokens of a text, of which the first is number `start`."""
    owner = zlib.crc32(text.encode("utf-8", "replace")) % COUNTS
    count = TOKENS_PER_CHARACTER * len(text)
    return [SpeechToken((start + i) % COUNTS, owner) for i in range(count)]


def sound(spoken: Sequence[SpeechToken], rate_hz: int) -> Samples:
    """The sound of tokens."""
    return np.concatenate([np.zeros(0, np.float32), *(_wave(one, rate_hz) for one in spoken)])


@lru_cache(maxsize=COUNTS * COUNTS)
def _wave(token: SpeechToken, rate_hz: int) -> Samples:
    at = np.arange(round(rate_hz * TOKEN_SECONDS)) / rate_hz
    low = np.sin(2 * np.pi * (LOW_HZ + STEP_HZ * token.count) * at)
    high = np.sin(2 * np.pi * (HIGH_HZ + STEP_HZ * token.owner) * at)
    return (LOUDNESS * low + HIGH_LOUDNESS * high).astype(np.float32)


def heard(audio: Samples, rate_hz: int) -> list[SpeechToken]:
    """The tokens in a sound that begins with a whole one; a rest of half a token is one too."""
    size = round(rate_hz * TOKEN_SECONDS)
    found = []
    for start in range(0, len(audio) - size // 2, size):
        block = np.zeros(size)
        part = audio[start : start + size]
        block[: len(part)] = part
        spectrum = np.abs(np.fft.rfft(block))
        low, high = LOW_HZ // STEP_HZ, HIGH_HZ // STEP_HZ
        found.append(
            SpeechToken(
                int(np.argmax(spectrum[low : low + COUNTS])),
                int(np.argmax(spectrum[high : high + COUNTS])),
            )
        )
    return found


class Tensor:
    """As much of torch's CPU tensor as its users look at."""

    def __init__(self, array: NDArray[np.float32]) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> NDArray[np.float32]:
        return self._array
