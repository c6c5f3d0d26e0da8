"""When an upstream that fails is left alone, and when it is tried again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class State(Enum):
    """Whether requests go to an upstream."""

    CLOSED = auto()
    """All do."""
    OPEN = auto()
    """None does."""
    HALF_OPEN = auto()
    """One does, as a trial."""


class Signal(Enum):
    """What moves a breaker."""

    SUCCESS = auto()
    FAILURE = auto()
    TRIP = auto()
    """A failure that is the last straw, or one that waiting alone will not mend."""
    COOLED = auto()
    """The cool-down is over, or a probe found the upstream at its place again."""


NEXT: Final = {
    (State.CLOSED, Signal.SUCCESS): State.CLOSED,
    (State.CLOSED, Signal.FAILURE): State.CLOSED,
    (State.CLOSED, Signal.TRIP): State.OPEN,
    (State.CLOSED, Signal.COOLED): State.CLOSED,
    (State.OPEN, Signal.SUCCESS): State.OPEN,  # of a stream that began before
    (State.OPEN, Signal.FAILURE): State.OPEN,
    (State.OPEN, Signal.TRIP): State.OPEN,
    (State.OPEN, Signal.COOLED): State.HALF_OPEN,
    (State.HALF_OPEN, Signal.SUCCESS): State.CLOSED,
    (State.HALF_OPEN, Signal.FAILURE): State.OPEN,
    (State.HALF_OPEN, Signal.TRIP): State.OPEN,
    (State.HALF_OPEN, Signal.COOLED): State.HALF_OPEN,
}
"""Next state by state and signal."""

MAX_DOUBLINGS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a breaker opens, and for how long.

    Attributes:
        failures: In a row, after which it opens.
        cooldown: Seconds for which it then stays open; doubled each time a trial fails.
        longest: Seconds that it stays open at most.
    """

    failures: int = 3
    cooldown: float = 2.0
    longest: float = 60.0


class Breaker:
    """The breaker of one upstream.

    Args:
        rules: When it opens.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._state = State.CLOSED
        self._failures = 0
        self._trips = 0
        self._until = 0.0

    @property
    def until(self) -> float:
        """Instant at which an open breaker lets a trial pass."""
        return self._until

    def state(self, now: float) -> State:
        """Return the state at an instant."""
        if self._state is State.OPEN and now >= self._until:
            self._move(Signal.COOLED, now)
        return self._state

    def succeed(self, now: float) -> None:
        """Take note of a request that went well."""
        self.state(now)
        self._failures = 0
        self._move(Signal.SUCCESS, now)

    def fail(self, now: float, *, for_good: bool = False) -> None:
        """Take note of one that did not.

        Args:
            now: Its instant.
            for_good: Whether it is certain that the next one fails too, as with a wrong key.
        """
        self.state(now)
        self._failures += 1
        last_straw = for_good or self._failures >= self._rules.failures
        self._move(Signal.TRIP if last_straw else Signal.FAILURE, now)

    def cool(self, now: float) -> None:
        """Let a trial pass at once: something answers there again."""
        self._move(Signal.COOLED, now)

    def _move(self, signal: Signal, now: float) -> None:
        before, self._state = self._state, NEXT[self._state, signal]
        if self._state is State.CLOSED and before is State.HALF_OPEN:
            self._trips = 0
        if self._state is State.OPEN and before is not State.OPEN:
            wait = self._rules.cooldown * 2 ** min(self._trips, MAX_DOUBLINGS)
            self._until = now + min(wait, self._rules.longest)
            self._trips += 1
