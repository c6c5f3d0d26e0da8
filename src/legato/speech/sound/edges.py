"""Where a piece of speech begins and ends: silence beyond a pause taken off, and no click."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioFormat

STEP: Final = 0.01
"""Seconds of the steps that are silent or not, counted from the first sample."""

LEAD: Final = 0.06
"""Seconds of silence kept before the first sound, where some is cut: what begins softly lies
there."""

FADE_IN: Final = 0.002
FADE_OUT: Final = 0.005
"""Seconds; the last that may be the end are held back until it is known whether they are."""

LONGEST: Final = 2.0
"""Seconds of silence held back at most; where there is more it is no end, but meant."""

_QUIET_POWER: Final = (32768 * 10 ** (-60 / 20)) ** 2
"""Mean square below which a step is silent: -60 dBFS, far below any consonant."""

Samples = NDArray[np.int16]
"""Shape [samples, channels]."""


class Edges:
    """Cuts and fades one piece of speech as it comes.

    What comes out depends on the samples alone, not on how they were cut into chunks. At most
    15 ms of sound are held back, and of silence what may have to be cut.

    Args:
        form: Of the samples.
        tail: Seconds of silence kept behind the last sound; None cuts none, there or before.
    """

    def __init__(self, form: AudioFormat, *, tail: float | None) -> None:
        self._step = form.samples(STEP)
        self._lead_samples = round(LEAD / STEP) * self._step
        self._tail_samples = None if tail is None else round(tail / STEP) * self._step
        self._longest_samples = form.samples(LONGEST)
        self._rise = _ramp(form.samples(FADE_IN))
        self._fall = _ramp(form.samples(FADE_OUT))[::-1]
        self._rest = self._held = self._last = np.zeros((0, form.channels), np.int16)
        self._has_sound = False
        self._quiet_samples = 0
        self._faded_samples = 0

    def push(self, audio: Samples) -> Samples:
        """Return what can be given so far."""
        joined = np.concatenate((self._rest, audio))
        whole = len(joined) - len(joined) % self._step
        self._rest = joined[whole:]
        return self._give(self._cut(joined[:whole]))

    def end(self) -> Samples:
        """Return what was held back, as far as it is no silence to be cut."""
        given = [self._give(self._cut(self._rest))]
        if not self._has_sound:
            given.append(self._give([self._held]))
        audio = np.concatenate((*given, self._last))
        reach = min(len(audio), len(self._fall))
        audio[len(audio) - reach :] = _scaled(
            audio[len(audio) - reach :], self._fall[len(self._fall) - reach :]
        )
        return audio

    def _cut(self, audio: Samples) -> list[Samples]:
        """Return `audio` without the silence that may be too much; the last step may be short."""
        if self._tail_samples is None:
            return [audio]
        given: list[Samples] = []
        for run, is_silent in self._runs(audio):
            if not is_silent:
                given += (self._held, run)
                self._held = run[:0]
                self._has_sound, self._quiet_samples = True, 0
            elif self._has_sound:
                given += self._pause(run, self._tail_samples)
            else:
                self._held = np.concatenate((self._held, run))[-self._lead_samples :]
        return given

    def _pause(self, run: Samples, tail_samples: int) -> list[Samples]:
        """Take in silence behind a sound; return what is kept even if nothing follows."""
        room = max(tail_samples - self._quiet_samples, 0)
        self._quiet_samples += len(run)
        self._held = np.concatenate((self._held, run[room:]))
        if self._quiet_samples < self._longest_samples:
            return [run[:room]]
        held, self._held = self._held, run[:0]
        return [run[:room], held]

    def _runs(self, audio: Samples) -> Iterator[tuple[Samples, bool]]:
        """Cut into runs of steps that are all silent or all not."""
        if not len(audio):
            return
        whole = len(audio) // self._step * self._step
        silent = _is_silent(audio[:whole].reshape(-1, self._step * audio.shape[1]))
        if whole < len(audio):
            silent = np.append(silent, _is_silent(audio[whole:].reshape(1, -1)))
        changes = np.flatnonzero(silent[1:] != silent[:-1]) + 1
        starts = [0, *(changes * self._step).tolist(), len(audio)]
        for at, end in pairwise(starts):
            yield audio[at:end], bool(silent[at // self._step])

    def _give(self, pieces: list[Samples]) -> Samples:
        """Fade in what is first, and keep back what may be last."""
        audio = np.concatenate((self._last[:0], *pieces))
        reach = min(len(audio), len(self._rise) - self._faded_samples)
        if reach > 0:
            ramp = self._rise[self._faded_samples : self._faded_samples + reach]
            audio[:reach] = _scaled(audio[:reach], ramp)
            self._faded_samples += reach
        joined = np.concatenate((self._last, audio))
        keep = max(len(joined) - len(self._fall), 0)
        self._last = joined[keep:]
        return joined[:keep]


def _is_silent(steps: Samples) -> NDArray[np.bool_]:
    """Tell of each step whether it is silent; its sum is exact, the same on every processor."""
    values = steps.astype(np.float64)
    silent: NDArray[np.bool_] = (
        np.einsum("ij,ij->i", values, values) < _QUIET_POWER * steps.shape[1]
    )
    return silent


def _ramp(samples: int) -> NDArray[np.float64]:
    """Return a rise from nothing to almost 1, without a corner, that every processor finds."""
    at = np.arange(samples) / samples
    ramp: NDArray[np.float64] = at * at * (3 - 2 * at)
    return ramp


def _scaled(audio: Samples, factors: NDArray[np.float64]) -> Samples:
    return np.rint(audio * factors[:, None]).astype(np.int16)
