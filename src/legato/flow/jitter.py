"""The jitter buffer: audio arrives when the network likes and is pulled at the device's pace."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from enum import Enum, auto
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from legato.errors import RateLimited
from legato.flow.start import Arrivals


class PlayoutFrame(NamedTuple):
    """A payload on its way to the device.

    Attributes:
        sample: Position of the first sample.
        payload: As it came.
        samples: Samples per channel.
    """

    sample: int
    payload: bytes
    samples: int

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self.sample + self.samples


class Playout(Enum):
    """What the buffer does."""

    FILLING = auto()
    """Holds frames back until there are enough to start."""
    PLAYING = auto()
    """Gives a frame to every pull."""
    STALLED = auto()
    """Ran dry before the end and holds back again: the listener hears a gap."""


class Signal(Enum):
    """What a pull finds in the buffer."""

    ENOUGH = auto()
    """`depth` seconds, or all that is to come before the end."""
    SOME = auto()
    """Less than that."""
    DRY = auto()
    """Nothing."""
    OVER = auto()
    """Nothing before the end that was announced; what is there begins something new."""


TRANSITIONS: Final[Mapping[tuple[Playout, Signal], Playout]] = MappingProxyType(
    {
        (Playout.FILLING, Signal.ENOUGH): Playout.PLAYING,
        (Playout.FILLING, Signal.SOME): Playout.FILLING,
        (Playout.FILLING, Signal.DRY): Playout.FILLING,
        (Playout.FILLING, Signal.OVER): Playout.FILLING,
        (Playout.PLAYING, Signal.ENOUGH): Playout.PLAYING,
        (Playout.PLAYING, Signal.SOME): Playout.PLAYING,
        (Playout.PLAYING, Signal.DRY): Playout.STALLED,
        (Playout.PLAYING, Signal.OVER): Playout.FILLING,
        (Playout.STALLED, Signal.ENOUGH): Playout.PLAYING,
        (Playout.STALLED, Signal.SOME): Playout.STALLED,
        (Playout.STALLED, Signal.DRY): Playout.STALLED,
        (Playout.STALLED, Signal.OVER): Playout.FILLING,
    }
)
"""The buffer's life; a stall that turns out to be the end was none."""

_POSITION = attrgetter("sample")


class JitterBuffer:
    """Plays every sample at most once and in order, after holding back `depth` seconds.

    Frames are told apart by position, which goes on across reconnections. What arrives after a
    later position was played is dropped; what never arrives is passed over.

    Args:
        sample_rate: Hz, of the positions.
        depth: Seconds to hold before playing starts, and again after an underrun; 0 plays frames
            as they come.
        limit: Seconds that may be held.

    Attributes:
        state: What the buffer does.
        underruns: Gaps that a listener heard between two frames of one utterance.
        stalled: Seconds of those gaps, in all.
        late: Frames dropped because a later position was already played.
        duplicates: Frames dropped because the same one is waiting.

    Raises:
        ValueError: If `depth` is negative or above `limit`.
    """

    def __init__(self, sample_rate: int, depth: float = 0.0, *, limit: float = 60.0) -> None:
        self._sample_rate = sample_rate
        self._limit = limit
        self._waiting: deque[PlayoutFrame] = deque()
        self._buffered = 0
        self._next = 0
        self._end: int | None = None
        self._dry_at = 0.0
        self._arrivals = Arrivals(sample_rate)
        self.state = Playout.FILLING
        self.underruns = 0
        self.stalled = 0.0
        self.late = 0
        self.duplicates = 0
        self.depth = depth

    @property
    def depth(self) -> float:
        """Seconds to hold before playing starts; a new value holds for the next start."""
        return self._depth

    @depth.setter
    def depth(self, depth: float) -> None:
        if not 0 <= depth <= self._limit:
            raise ValueError(f"depth must be 0 to {self._limit} seconds, not {depth}")
        self._depth = depth

    @property
    def buffered(self) -> float:
        """Seconds of audio waiting to be played."""
        return self._buffered / self._sample_rate

    @property
    def played_upto(self) -> int:
        """Position after the last sample pulled."""
        return self._next

    @property
    def required_delay(self) -> float:
        """Seconds to hold back the current utterance for its frames so far to leave no gap."""
        return self._arrivals.required_delay

    @property
    def arrival_rate(self) -> float:
        """Seconds of the current utterance that came in a second, infinite while unknown."""
        return self._arrivals.rate

    def push(self, sample: int, payload: bytes, *, samples: int, now: float) -> bool:
        """Take a frame that arrived at `now`.

        Args:
            sample: Position of its first sample.
            payload: Handed back by `pull` as it is.
            samples: Samples per channel, 1 or more; an empty last frame calls `end` instead.
            now: Monotonic seconds.

        Returns:
            False if it was dropped as late or duplicate.

        Raises:
            ValueError: If `samples` is below 1.
            RateLimited: If `limit` seconds are waiting already.
        """
        if samples < 1:
            raise ValueError(f"a frame has 1 sample or more, not {samples}")
        if sample < self._next:
            self.late += 1
            return False
        if self.buffered >= self._limit:
            raise RateLimited(f"{self.buffered:.1f} s of audio wait to be played already")
        if not self._insert(PlayoutFrame(sample, payload, samples)):
            self.duplicates += 1
            return False
        self._buffered += samples
        self._arrivals.add(sample, now)
        return True

    def end(self, sample: int) -> None:
        """Say that nothing more comes before position `sample`: play what there is.

        What is pushed beyond it begins something new, with `depth` of its own.
        """
        self._end = sample
        self._arrivals.finish()

    def clear(self, upto: int = 0) -> None:
        """Drop everything that waits, as a cancel does, and what may still come before `upto`."""
        self._waiting.clear()
        self._buffered = 0
        self._next = max(self._next, upto)
        self._end = None
        self._arrivals.finish()
        self.state = Playout.FILLING

    def pull(self, now: float) -> PlayoutFrame | None:
        """Return the next frame for the device, or None if it has to play silence.

        Args:
            now: The instant at which the device needs it, monotonic seconds.
        """
        signal = self._look()
        if signal is Signal.OVER:
            self.state = TRANSITIONS[self.state, signal]
            self._next = max(self._next, self._end or 0)
            self._end = None
            signal = self._look()
        before = self.state
        self.state = TRANSITIONS[before, signal]
        if self.state is not Playout.PLAYING:
            if before is Playout.PLAYING:
                self._dry_at = now
            return None
        if before is Playout.STALLED:
            self.underruns += 1
            self.stalled += now - self._dry_at
        frame = self._waiting.popleft()
        self._buffered -= frame.samples
        self._next = frame.end
        return frame

    def _look(self) -> Signal:
        waiting = self._waiting
        while waiting and waiting[0].sample < self._next:
            # It overlaps what was played: other frame boundaries after a new epoch.
            self.late += 1
            self._buffered -= waiting.popleft().samples
        if self._end is not None:
            over = not waiting or waiting[0].sample >= self._end
            return Signal.OVER if over else Signal.ENOUGH
        if not waiting:
            return Signal.DRY
        enough = self._buffered >= round(self._depth * self._sample_rate)
        return Signal.ENOUGH if enough else Signal.SOME

    def _insert(self, frame: PlayoutFrame) -> bool:
        waiting = self._waiting
        if not waiting or frame.sample > waiting[-1].sample:
            waiting.append(frame)
            return True
        place = bisect_left(waiting, frame.sample, key=_POSITION)
        if waiting[place].sample == frame.sample:
            return False
        waiting.insert(place, frame)
        return True
