"""What is wrong with CosyVoice's streamed sound, mended chunk by chunk.

Each clip is one text that CosyVoice speaks; it comes in chunks that follow one another without a
gap. What is mended: NaN, a first chunk that is louder or quieter than the rest, a step where two
chunks meet, noise in the last 40 ms of a streamed clip, and edges that are not silent.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

NOISE: Final = 0.04
"""Seconds at the end of a streamed clip that are noise: CosyVoice issue 1919, 89 % of clips."""

FADE: Final = 0.005
"""Seconds of fade at the edges of a clip, and over which a step at a joint is spread."""

FRAME: Final = 0.02
"""Seconds of which one level is taken."""

QUIET: Final = 0.01
"""Share of the power of the loudest frame below which a frame does not count as speech."""

LEAST_SPEECH: Final = 0.2
"""Seconds of speech of which a level can be told."""

DEAD_BAND_DB: Final = 1.5
"""Difference of level that speech has by itself from one second to the next."""

MOST_DB: Final = 6.0
"""Largest correction of level: more is meant, or is no speech."""

CLICK: Final = 2.0
"""How much larger than the largest step beside it a step must be to be a click."""


class Clip:
    """Mends the chunks of one clip.

    Args:
        rate_hz: Sample rate.
        streamed: Whether it comes in chunks, with noise at its end.
        reference: Level of the voice after its first chunk, as `speech_level` tells it; None leaves
            the first chunk as it is.
    """

    def __init__(self, rate_hz: int, *, streamed: bool, reference: float | None) -> None:
        self._rate_hz = rate_hz
        self._fade = round(FADE * rate_hz)
        self._cut = round(NOISE * rate_hz) if streamed else 0
        self._reference = reference
        self._held = np.zeros(0, np.float32)
        self._before: Samples | None = None

    def push(self, chunk: Samples) -> Samples:
        """Take the next chunk, give what is known not to be the end of the clip."""
        if not len(chunk):
            return chunk
        chunk = np.nan_to_num(chunk, nan=0.0, posinf=1.0, neginf=-1.0).astype(np.float32)
        if self._before is None:
            chunk = _faded_in(chunk * np.float32(self._first_gain(chunk)), self._fade)
            self._before = chunk[:0]
        chunk = np.clip(chunk, -1.0, 1.0)
        if len(self._before):
            chunk = joined(self._before, chunk, self._fade)
        self._before = np.concatenate((self._before, chunk))[-self._fade :]
        whole = np.concatenate((self._held, chunk))
        cut = max(0, len(whole) - self._cut - self._fade)
        self._held = whole[cut:]
        return whole[:cut]

    def end(self) -> Samples:
        """Give the end of the clip, without its noise."""
        rest = self._held[: max(0, len(self._held) - self._cut)]
        self._held = np.zeros(0, np.float32)
        return _faded_in(rest[::-1], self._fade)[::-1]

    def _first_gain(self, chunk: Samples) -> float:
        """Return by what the first chunk has to be multiplied; later ones are the reference."""
        level = speech_level(chunk, self._rate_hz)
        if self._reference is None or level is None:
            return 1.0
        off = 20 * float(np.log10(self._reference / level))
        if abs(off) <= DEAD_BAND_DB:
            return 1.0
        return float(10 ** (np.clip(off, -MOST_DB, MOST_DB) / 20))


def speech_level(audio: Samples, rate_hz: int) -> float | None:
    """Return the RMS of what is speech in a sound, None where there is too little of it.

    The mean of each frame is left out: a sound that is off centre is not louder.
    """
    size = round(FRAME * rate_hz)
    frames = audio[: len(audio) // size * size].reshape(-1, size)
    power = frames.var(axis=1, dtype=np.float64)
    if not len(power) or power.max() <= 0:
        return None
    speech = power[power > QUIET * power.max()]
    if len(speech) * FRAME < LEAST_SPEECH:
        return None
    return float(np.sqrt(np.median(speech)))


def joined(before: Samples, chunk: Samples, fade: int) -> Samples:
    """Return a chunk that goes on where the one before it ended.

    A step that is a click, not sound, is spread over `fade` samples: the chunk begins where the
    last one would have gone on to, and glides to where it is. Nothing is lost and nothing waits.
    """
    near = np.concatenate((before, chunk[:1]))[-2:]
    beside = np.abs(np.concatenate((np.diff(before), np.diff(chunk[: len(before)])))).max(initial=0)
    slope = float(before[-1] - before[-2]) if len(before) > 1 else 0.0
    step = float(before[-1]) + slope - float(chunk[0])
    if abs(float(near[-1] - near[0])) <= CLICK * beside:
        return chunk
    mended = chunk.copy()
    length = min(fade, len(chunk))
    mended[:length] += (step * (1 - _ramp(length))).astype(np.float32)
    return np.clip(mended, -1.0, 1.0).astype(np.float32)


def _faded_in(audio: Samples, fade: int) -> Samples:
    length = min(fade, len(audio))
    faded = audio.copy()
    faded[:length] *= _ramp(length).astype(np.float32)
    return faded


def _ramp(length: int) -> NDArray[np.float64]:
    """Rise from 0 to 1, half a period of a cosine."""
    return 0.5 - 0.5 * np.cos(np.pi * np.arange(length) / max(1, length))
