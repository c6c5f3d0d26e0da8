"""What a slot of an engine is good for, measured: who is admitted depends on it."""

from __future__ import annotations

from typing import Final

WEIGHT: Final = 0.1
"""Of the newest value in the moving averages: about the last twenty count."""


class SlotMeasure:
    """Moving averages of what calls take (exponentially weighted).

    Args:
        hold: Seconds that a call is taken to need its slot, until one has been seen.

    Attributes:
        hold: Seconds that a call needs its slot.
        cost: Seconds of a slot for a second of audio; 0 as long as nothing is known.
    """

    def __init__(self, hold: float) -> None:
        self.hold = hold
        self.cost = 0.0
        self._calls = 0
        self._held = 0.0
        self._audio = 0.0

    def note_hold(self, held: float) -> None:
        """Take account of a call that had its slot for `held` seconds."""
        self._calls += 1
        # The first are averaged, so that the guess weighs no more than any of them.
        weight = max(WEIGHT, 1 / (self._calls + 1))
        self.hold += weight * (held - self.hold)

    def note_work(self, held: float, audio: float) -> None:
        """Take account of `audio` seconds that a slot was taken for `held` seconds for."""
        keep = 1 - WEIGHT
        self._held = keep * self._held + held
        self._audio = keep * self._audio + audio
        if self._audio > 0:
            self.cost = self._held / self._audio
