"""How long to wait before the next attempt to connect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

from legato.errors import ConnectionLost


class Generator(Protocol):
    """What is needed of `random.Random`."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How delays grow from attempt to attempt.

    Attributes:
        base: Ceiling of the first delay in seconds; it doubles with each attempt.
        cap: Seconds above which the ceiling does not grow.
        patient_after: Seconds of trouble after which `patient_cap` replaces `cap`.
        patient_cap: Ceiling in seconds once the trouble lasts.
        tries: Attempts after which to give up, None for never.
        spread: None draws the whole delay, 0 to the ceiling ("full jitter"); a number makes the
            delay the ceiling plus up to this share of it.
    """

    base: float
    cap: float
    patient_after: float = math.inf
    patient_cap: float = math.inf
    tries: int | None = None
    spread: float | None = None

    def ceiling(self, attempt: int, trouble: float) -> float:
        """Return the ceiling in seconds for attempt 0, 1, ... after `trouble` seconds."""
        cap = self.patient_cap if trouble >= self.patient_after else self.cap
        # Not 2.0**attempt: a client that tries for days would overflow it.
        return min(cap, math.ldexp(self.base, min(attempt, 64)))


INTERACTIVE: Final = Profile(base=0.25, cap=1.0, patient_after=15.0, patient_cap=8.0)
"""The default: someone is listening. Full jitter: in a simulated outage of 3 s (base 0.25 s, cap
8 s) it had a thousand clients back after 11 s, no jitter after 757 s."""

ARTICLES: Final = Profile(base=1.0, cap=60.0, tries=10, spread=0.1)
"""The classic: 1 s doubling to 60 s, 10 tries, 0 to 10 % added (R9)."""


class Backoff:
    """Delays between attempts, until one succeeds.

    Args:
        rng: Source of the jitter, such as `random.Random`.
        profile: How delays grow.
    """

    __slots__ = ("_attempt", "_profile", "_rng", "_since")

    def __init__(self, rng: Generator, profile: Profile = INTERACTIVE) -> None:
        self._rng = rng
        self._profile = profile
        self._attempt = 0
        self._since: float | None = None

    @property
    def attempts(self) -> int:
        """Delays handed out since the last success."""
        return self._attempt

    @property
    def is_exhausted(self) -> bool:
        """Whether the profile allows no further attempt."""
        return self._profile.tries is not None and self._attempt >= self._profile.tries

    def next_delay(self, now: float, retry_after: float | None = None) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            now: The instant of the failure; the first since a success starts the trouble.
            retry_after: Seconds that the server asked for. The delay is added to them, so that
                clients who were told the same do not come back together.

        Raises:
            ConnectionLost: If the profile allows no further attempt.
        """
        if self.is_exhausted:
            raise ConnectionLost(f"gave up after {self._attempt} attempts")
        if self._since is None:
            self._since = now
        ceiling = self._profile.ceiling(self._attempt, now - self._since)
        self._attempt += 1
        spread = self._profile.spread
        share = self._rng.random()
        delay = ceiling * (share if spread is None else 1 + share * spread)
        return delay + max(0.0, retry_after or 0.0)

    def reset(self) -> None:
        """Start over after a success."""
        self._attempt = 0
        self._since = None
