"""Where speech begins, pauses and is over, from the probability of speech of each window.

Pure: a machine fed window by window. Positions are window numbers since its start.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a machine decides; all but the probabilities in windows.

    Attributes:
        threshold: Probability of speech from which a window counts as speech.
        hysteresis: How far below that the probability must fall to count as silence again
            (Silero's own iterator uses 0.15); at most half of it.
        confirm: Windows of speech in a row that make a segment; fewer are a click.
        preroll: Kept before the first window of speech, where quiet consonants are.
        tail: Kept after the last window of speech.
        silence: After so many without speech the segment is over; None: never by silence.
        longest: A segment is cut at this length.
        lookback: How far back from there the quietest point is looked for.
    """

    threshold: float = 0.5
    hysteresis: float = 0.15
    confirm: int = 3
    preroll: int = 10
    tail: int = 4
    silence: int | None = 16
    longest: int = 375
    lookback: int = 94


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment that is over.

    Attributes:
        onset: First window of speech.
        start: First window to decode, `onset` less the preroll.
        end: Window after the last one to decode; the next machine starts there.
    """

    onset: int
    start: int
    end: int


class _State(Enum):
    SILENCE = auto()
    ONSET = auto()
    SPEECH = auto()
    PAUSE = auto()


class _Signal(Enum):
    SPEECH = auto()
    UNSURE = auto()
    SILENCE = auto()


_NEXT: Final = {
    (_State.SILENCE, _Signal.SPEECH): _State.ONSET,
    (_State.SILENCE, _Signal.UNSURE): _State.SILENCE,
    (_State.SILENCE, _Signal.SILENCE): _State.SILENCE,
    (_State.ONSET, _Signal.SPEECH): _State.ONSET,
    (_State.ONSET, _Signal.UNSURE): _State.SILENCE,
    (_State.ONSET, _Signal.SILENCE): _State.SILENCE,
    (_State.SPEECH, _Signal.SPEECH): _State.SPEECH,
    (_State.SPEECH, _Signal.UNSURE): _State.SPEECH,
    (_State.SPEECH, _Signal.SILENCE): _State.PAUSE,
    (_State.PAUSE, _Signal.SPEECH): _State.SPEECH,
    (_State.PAUSE, _Signal.UNSURE): _State.PAUSE,
    (_State.PAUSE, _Signal.SILENCE): _State.PAUSE,
}
"""Next state by state and signal; ONSET becomes SPEECH once it is confirmed."""


class Endpointer:
    """Finds the first segment of speech in a run of windows; a new machine finds the next.

    Args:
        rules: When it decides.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._state = _State.SILENCE
        self._windows = 0
        self._onset = 0
        self._spoken = 0
        self._levels: deque[float] = deque(maxlen=rules.lookback)

    @property
    def windows(self) -> int:
        """Windows heard."""
        return self._windows

    @property
    def silent(self) -> bool:
        """Whether there is no sign of speech: all but the last `preroll` windows can go."""
        return self._state is _State.SILENCE

    @property
    def speaking(self) -> bool:
        """Whether a segment is open and its speaker does not pause."""
        return self._state is _State.SPEECH

    @property
    def open(self) -> Segment | None:
        """The open segment as far as it was heard."""
        return self._segment(self._windows) if self._is_open else None

    @property
    def pausing(self) -> Segment | None:
        """What the open segment will be if the present pause is its end, once the tail is heard."""
        end = self._end
        known = self._state is _State.PAUSE and self._windows >= end
        return self._segment(end) if known else None

    def accept(
        self, probability: float, level: float, *, longest: int | None = None
    ) -> Segment | None:
        """Take the next window; return the segment if it ends with that.

        Args:
            probability: Of speech, 0 to 1.
            level: Of the window's power, on any scale; the lowest is the quietest.
            longest: Windows at which it is cut now, if fewer than the rules say.
        """
        self._move(self._signal(probability))
        self._levels.append(level)
        self._windows += 1
        if not self._is_open:
            return None
        silence = self._rules.silence
        if silence is not None and self._windows - self._spoken >= max(silence, 1):
            return self._segment(self._end)
        longest = self._rules.longest if longest is None else min(longest, self._rules.longest)
        if self._windows - self._start >= longest:
            return self._segment(self._quietest())
        return None

    def finish(self) -> Segment | None:
        """Return the open segment, which the end of the audio ends."""
        return self._segment(min(self._end, self._windows)) if self._is_open else None

    @property
    def _is_open(self) -> bool:
        return self._state in (_State.SPEECH, _State.PAUSE)

    @property
    def _start(self) -> int:
        return max(0, self._onset - self._rules.preroll)

    @property
    def _end(self) -> int:
        """Where the segment ends if its last window of speech was the last one heard."""
        tail, silence = self._rules.tail, self._rules.silence
        return self._spoken + (tail if silence is None else min(tail, max(silence, 1)))

    def _segment(self, end: int) -> Segment:
        return Segment(self._onset, self._start, end)

    def _signal(self, probability: float) -> _Signal:
        if probability >= self._rules.threshold:
            return _Signal.SPEECH
        threshold = self._rules.threshold
        floor = max(threshold - self._rules.hysteresis, threshold / 2)
        return _Signal.SILENCE if probability < floor else _Signal.UNSURE

    def _move(self, signal: _Signal) -> None:
        before, self._state = self._state, _NEXT[self._state, signal]
        if before is _State.SILENCE and self._state is _State.ONSET:
            self._onset = self._windows
        if self._state is _State.ONSET and self._windows - self._onset + 1 >= self._rules.confirm:
            self._state = _State.SPEECH
        if self._state is _State.SPEECH:
            self._spoken = self._windows + 1

    def _quietest(self) -> int:
        """Return the window, within the lookback, around which three together are the quietest."""
        levels = list(self._levels)
        sums = [sum(levels[at - 1 : at + 2]) for at in range(1, len(levels) - 1)]
        # Of equals the last, so that the segment is long.
        latest = min(range(len(sums)), key=lambda at: (sums[at], -at))
        return self._windows - len(levels) + latest + 1
