"""Raising and lowering, with peaks kept below full scale."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioFormat
from legato.speech.sound.edges import Samples

CEILING: Final = 10 ** (-1 / 20)
"""Highest peak, also between samples: -1 dBTP (EBU R 128)."""

BLOCK: Final = 0.005
"""Seconds within which the gain goes down before a peak."""

RELEASE: Final = 0.15
"""Seconds in which the gain comes back from half."""

_NEAR: Final = 0.7
"""Of the ceiling: below, no peak between samples of speech reaches it."""

_TIMES: Final = 4
_REACH: Final = 6
"""Values between two samples, and samples to each side that they are made of, as in BS.1770-5
annex 2."""


_MOST: Final = 32768 * CEILING
"""The ceiling in steps of int16."""


class Limiter:
    """Raises or lowers one piece of speech, and turns its peaks down where they would be too high.

    What comes out depends on the samples alone, not on how they were cut into chunks. Where
    nothing is raised nothing is held back; else up to 10 ms.

    Args:
        form: Of the samples.
        gain_db: By how much to raise; below 0 to lower.
    """

    def __init__(self, form: AudioFormat, *, gain_db: float) -> None:
        self._gain = 10 ** (gain_db / 20)
        self._block = form.samples(BLOCK)
        self._recovery = 0.5 * BLOCK / RELEASE
        self._rest: NDArray[np.float64] = np.zeros((0, form.channels))
        self._before: NDArray[np.float64] = np.zeros((2 * _REACH, form.channels))
        self._waiting = self._rest
        self._factor = self._node = 1.0

    def push(self, audio: Samples) -> Samples:
        """Return what can be given so far."""
        if self._gain == 1.0:
            return audio
        raised = audio.astype(np.float64) * self._gain
        if self._gain < 1.0:
            return _rounded(raised)
        joined = np.concatenate((self._rest, raised))
        whole = len(joined) - len(joined) % self._block
        self._rest = joined[whole:]
        return self._limited(joined[:whole])

    def end(self) -> Samples:
        """Return what was held back; nothing may be pushed after it."""
        filled = np.zeros((2 * self._block, self._rest.shape[1]))
        filled[: len(self._rest)] = self._rest
        count = len(self._waiting) + len(self._rest)
        return self._limited(filled)[:count]

    def _limited(self, audio: NDArray[np.float64]) -> Samples:
        """Take in whole blocks; return as many, but for the one whose end is not known yet."""
        if not len(audio):
            return audio.astype(np.int16)
        nodes = [self._node]
        for peak in self._peaks(audio):
            factor = min(_MOST / max(peak, _MOST), self._factor + self._recovery)
            nodes.append(min(factor, self._factor))
            self._factor = factor
        first = 0 if len(self._waiting) else 1
        joined = np.concatenate((self._waiting, audio))
        self._waiting, given = joined[-self._block :], joined[: -self._block]
        curve = nodes[first:]
        self._node = curve[-1]
        return _rounded(given * self._curve(curve)[:, None])

    def _curve(self, nodes: list[float]) -> NDArray[np.float64]:
        """Return a factor for each sample, on straight lines from node to node."""
        blocks = np.asarray(nodes)
        share = np.arange(self._block) / self._block
        lines: NDArray[np.float64] = blocks[:-1, None] + np.diff(blocks)[:, None] * share
        return lines.reshape(-1)

    def _peaks(self, audio: NDArray[np.float64]) -> list[float]:
        """Return the peak of each block, between samples too where it is near the ceiling."""
        joined = np.concatenate((self._before, audio))
        self._before = joined[-2 * _REACH :]
        peaks = np.abs(audio).max(axis=1).reshape(-1, self._block).max(axis=1)
        for number in np.flatnonzero(peaks > _MOST * _NEAR):
            at = number * self._block
            between = _between(joined[at : at + self._block + 2 * _REACH])
            peaks[number] = max(peaks[number], float(np.abs(between).max()))
        found: list[float] = peaks.tolist()
        return found


def _rounded(audio: NDArray[np.float64]) -> Samples:
    return np.rint(audio).astype(np.int16)


def _between(audio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values a quarter, a half and three quarters behind each sample but the outer."""
    windows = np.lib.stride_tricks.sliding_window_view(audio, 2 * _REACH, axis=0)
    values: NDArray[np.float64] = windows @ _TAPS
    return values


def _taps() -> NDArray[np.float64]:
    """Return a windowed sinc for each place between two samples; shape [taps, places]."""
    places = np.arange(1, _TIMES) / _TIMES
    distance = np.arange(2 * _REACH)[:, None] - (_REACH - 1) - places
    window = np.cos(np.pi * distance / (2 * _REACH)) ** 2
    taps: NDArray[np.float64] = np.sinc(distance) * window
    return taps


_TAPS: Final = _taps()
