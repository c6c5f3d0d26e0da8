"""Audio kept until it is done with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from legato.audio import to_float


class Tape:
    """A growing run of mono samples that is forgotten from the front; positions stay."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.float32)
        self._start = 0

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self._start + len(self._samples)

    def append(self, pcm: bytes) -> None:
        """Add s16le samples.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
        """
        self._samples = np.concatenate((self._samples, to_float(pcm)))

    def read(self, start: int, end: int) -> NDArray[np.float32]:
        """Return samples [start, end); what lies after the last one is silence.

        Raises:
            ValueError: If `start` was forgotten.
        """
        if start < self._start:
            raise ValueError(f"sample {start} is forgotten; the tape begins at {self._start}")
        found = self._samples[start - self._start : max(end - self._start, 0)]
        return np.pad(found, (0, end - start - len(found))) if len(found) < end - start else found

    def forget(self, before: int) -> None:
        """Drop all samples before a position."""
        self._samples = self._samples[max(before - self._start, 0) :]
        self._start = max(self._start, before)
