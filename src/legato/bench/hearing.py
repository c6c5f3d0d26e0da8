"""What a listener hears of a stream whose samples are known: when they came, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from legato.audio import AudioChunk

LEAD: Final = 2.0
"""Seconds of audio that a listener has before it is due: what the server sends ahead."""

Samples = npt.NDArray[np.int16]

Expected = Callable[[int, int], Samples]
"""Takes a position and a count, returns the samples that belong there."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Samples that came.

    Attributes:
        at: Monotonic seconds.
        seconds: How long they play.
    """

    at: float
    seconds: float


class Ear:
    """Notes the chunks of one stream.

    Args:
        expected: What each sample must be.

    Attributes:
        arrivals: In their order.
        wrong: Samples that were lost, came twice, or are not those of their place.
    """

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._next = 0
        self.arrivals: list[Arrival] = []
        self.wrong = 0

    def hear(self, chunk: AudioChunk, now: float) -> None:
        """Take the next chunk."""
        self.arrivals.append(Arrival(now, chunk.duration))
        self.wrong += abs(chunk.sample - self._next)
        self._next = chunk.sample + chunk.samples
        came = np.frombuffer(chunk.pcm, "<i2")
        known = self._expected(chunk.sample, chunk.samples)
        shared = min(len(came), len(known))
        different = np.count_nonzero(came[:shared] != known[:shared])
        self.wrong += int(different) + len(came) - shared

    def moved_after(self, moment: float, until: float) -> float:
        """Return how long after `moment` the longest pause ended.

        Args:
            moment: Monotonic seconds.
            until: End of what counts; a pause that is not over by then ends there.
        """
        instants = [moment, *(one.at for one in self.arrivals if moment < one.at < until), until]
        pauses = [(after - before, after) for before, after in pairwise(instants)]
        return max(pauses)[1] - moment

    def lead(self, moment: float, *, held: float) -> float:
        """Return the seconds of audio that are there at a moment and not played yet.

        Args:
            moment: Monotonic seconds.
            held: Seconds that the first sample is held back before it is played.
        """
        return self._dry_at(moment, held) - moment if self.arrivals else 0.0

    def silence(self, until: float, *, held: float) -> float:
        """Return the seconds in which a listener has nothing to hear, in all.

        Args:
            until: Monotonic seconds; what was not there by then is not waited for.
            held: Seconds that the first sample is held back before it is played.
        """
        if not self.arrivals:
            return 0.0
        played = sum(one.seconds for one in self.arrivals if one.at < until)
        dry_at = self._dry_at(until, held)
        return max(dry_at, until) - (self.arrivals[0].at + held) - played

    def _dry_at(self, moment: float, held: float) -> float:
        """Return when all that came before `moment` has been played."""
        dry_at = self.arrivals[0].at + held
        for arrival in self.arrivals:
            if arrival.at >= moment:
                break
            dry_at = max(dry_at, arrival.at) + arrival.seconds
        return dry_at


def ramp(at: int, count: int) -> Samples:
    """Return samples that say their own position, modulo 65,536."""
    return np.arange(at, at + count, dtype=np.int64).astype(np.uint16).view(np.int16)
