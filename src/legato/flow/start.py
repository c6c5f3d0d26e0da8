"""When to begin to play: as late as recent utterances needed for playing without a gap.

The measure is the required start delay of an utterance, max((a_i - a_0) - (t_i - t_0)) over the
arrivals a and positions t of its frames: the least delay that would have left no gap. It is exact,
compares no clocks, does not depend on how audio is cut into frames, and is 0 where the sender is
ahead. Delays are taken as exponentially distributed; the start is the delay that is exceeded with
probability `risk`. Method and constants were measured on recorded TCP arrivals over Wi-Fi, 3G, LTE
and lossy links (28 cells of at least 80 utterances: cost .75, against .97 with a fixed 100 ms).

Playing slower while the buffer is low (WSOLA time stretching) would keep another one or two
utterances in a hundred whole. It is left out: it alters the sound for little.
"""

from __future__ import annotations

import math
from typing import Final

RISK: Final = 0.20
"""Share of utterances that may need a later start: where waiting plus stalls cost the least."""

CAREFUL_RISK: Final = 0.10
"""For listeners who mind a gap more than a wait: 315 instead of 258 ms on a lossy link."""

MEMORY: Final = 0.93
"""Weight of what is known when another utterance is added: half is forgotten after ten."""

PRIOR_WEIGHT: Final = 2.0
"""Utterances that the first guess counts for."""

LEAD_START: Final = 0.06
"""Seconds of the first guess where the server sends ahead of the listener."""

PACED_START: Final = 0.08
"""Seconds of the first guess, and a round trip, where it sends at the pace of speech."""

LEAST_START: Final = 0.06
MOST_START: Final = 1.2
"""Bounds of the start in seconds; longer waits are worse than the gaps they save."""

MOST_DELAY: Final = 2.0
"""Seconds that one utterance counts for at the most: an outage says little about the next one."""

RATE_AFTER: Final = 0.25
"""Seconds of arrivals from which their rate is believed."""

ENOUGH_RATE: Final = 0.97
"""Seconds of audio per second that count as keeping up: 1, less what jitter feigns."""

MOST_REMAINING: Final = 3.0
"""Seconds still to come that a slow link is held back for, at the most."""


class Arrivals:
    """What the arrivals of one utterance tell.

    Args:
        sample_rate: Hz, of the positions.

    Attributes:
        required_delay: Seconds that the utterance should have been held back for its frames so far
            to play without a gap.
        rate: Seconds of audio that came in a second, infinite until 0.25 s after the first frame.
    """

    __slots__ = ("_first", "_sample_rate", "rate", "required_delay")

    def __init__(self, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        self._first: tuple[float, int] | None = None
        self.required_delay = 0.0
        self.rate = math.inf

    def add(self, sample: int, now: float) -> None:
        """Take in that the frame that begins at position `sample` came at `now`."""
        if self._first is None:
            self._first = (now, sample)
            self.required_delay = 0.0
            self.rate = math.inf
            return
        arrival, start = self._first
        waited, audio = now - arrival, (sample - start) / self._sample_rate
        self.required_delay = max(self.required_delay, waited - audio)
        if waited >= RATE_AFTER:
            self.rate = max(audio, 0.0) / waited

    def finish(self) -> None:
        """End the utterance; what is known of it stays until the next one begins."""
        self._first = None


class AdaptiveStart:
    """How much audio to hold before playing, learned from the utterances before.

    Args:
        lead: Whether the server sends ahead of the listener.
        round_trip: Seconds, of the first guess where it does not.
        risk: Share of utterances that may need more, above 0 and below 1.

    Raises:
        ValueError: If `risk` or `round_trip` is out of range.
    """

    __slots__ = ("_caution", "_count", "_delays", "_prior")

    def __init__(self, *, lead: bool = False, round_trip: float = 0.0, risk: float = RISK) -> None:
        if not 0 < risk < 1:
            raise ValueError(f"risk must be between 0 and 1, not {risk}")
        if not 0 <= round_trip < math.inf:
            raise ValueError(f"round_trip must be 0 seconds or more, not {round_trip}")
        self._caution = math.log(1 / risk)
        self._prior = LEAD_START if lead else PACED_START + round_trip
        self._delays = 0.0
        self._count = 0.0

    def learn(self, required_delay: float) -> None:
        """Take in what an utterance that ended would have needed, in seconds."""
        self._delays = MEMORY * self._delays + min(max(required_delay, 0.0), MOST_DELAY)
        self._count = MEMORY * self._count + 1

    def depth(self, rate: float = math.inf, remaining: float = math.inf) -> float:
        """Return the seconds of audio to hold before playing.

        Args:
            rate: Seconds of audio that come in a second; where the link is too slow, what it will
                fall behind by the end of the utterance is held as well.
            remaining: Seconds of the utterance that are still to come, if known.
        """
        known = PRIOR_WEIGHT * self._prior + self._caution * self._delays
        start = min(max(known / (PRIOR_WEIGHT + self._count), LEAST_START), MOST_START)
        shortfall = max(0.0, ENOUGH_RATE - rate)
        return start + shortfall * min(max(remaining, 0.0), MOST_REMAINING)
