"""What live recognitions cost one engine process, and how often each may be guessed at.

A guess at an open segment costs seconds of a processor, the more the longer the segment. So that
the guesses of all streams together stay within their share of the processors, each stream has one
every `streams * cost / (share * processors)` seconds. The cost is wall time: where other programs
take the processors too it rises, and guesses become rarer.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Final

from legato.engines.precedence import Precedence

SHARE: Final = 0.55
"""Share of all processors that guesses may take: finals and all that is around them need as much
again, and a part must stay free (measured: docs/engines.md)."""

WEIGHT: Final = 0.1
"""Of the newest cost in the moving average: about the last twenty count."""

CROWDED: Final = 1.5
"""Seconds between two guesses of a stream from which on the process is strained."""

EASY: Final = 1.0
"""Seconds below which it is not any more, once that has lasted for `CALM`."""

CALM: Final = 3.0
"""Seconds for which a strain outlives its cause, so that it does not flicker."""

OVERDUE: Final = 2.0
"""Seconds of speech without a guess, of one live stream, that are a strain in any case."""


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Crowd:
    """All streams of one engine process, which share its processors.

    Args:
        processors: That it may use.

    Attributes:
        load: What the live ones cost.
        turns: Who computes next.
    """

    def __init__(self, processors: int) -> None:
        self.load = LiveLoad(processors)
        self.turns = Precedence(processors)


class LiveLoad:
    """The live streams of one process; may be told and asked from any thread.

    Args:
        processors: That it may use.
    """

    def __init__(self, processors: int) -> None:
        self._budget = SHARE * processors
        self._lock = threading.Lock()
        self._open: set[object] = set()
        self._cost = 0.0
        self._strained_until = -math.inf

    def open(self, stream: object) -> None:
        """Note that somebody speaks in a live stream."""
        with self._lock:
            self._open.add(stream)

    def close(self, stream: object) -> None:
        """Note that nobody does any more."""
        with self._lock:
            self._open.discard(stream)

    def note(self, cost: float) -> None:
        """Note that a guess took `cost` seconds."""
        with self._lock:
            self._cost += (WEIGHT if self._cost else 1.0) * (cost - self._cost)

    def interval(self) -> float:
        """Return the seconds between two guesses that each open stream can have."""
        with self._lock:
            return self._interval()

    def note_overdue(self, now: float) -> None:
        """Note that a live stream has not been guessed at for too long."""
        with self._lock:
            self._strained_until = now + CALM

    def strained(self, now: float) -> bool:
        """Whether there are more live streams than can be served as one alone would be.

        Args:
            now: Monotonic seconds.
        """
        with self._lock:
            interval = self._interval()
            lasting = now < self._strained_until
            if interval > CROWDED or (lasting and interval > EASY):
                self._strained_until = now + CALM
            return now < self._strained_until

    def _interval(self) -> float:
        return len(self._open) * self._cost / self._budget
