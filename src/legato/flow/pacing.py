"""How fast a sender may go: a token bucket, and the lead of audio over its listener."""

from __future__ import annotations

import math
from typing import Final

_NEVER: Final = 1e9
"""A bucket that takes longer than this (30 years) to fill counts as stopped: no float overflows."""


class TokenBucket:
    """Limits a flow to `rate` on average and `burst` at once.

    Keeps one number, when the bucket was empty, so that `take` and `ready_at` cannot disagree
    through rounding (GCRA, ITU-T I.371). Sizes may be in any unit: bytes, samples, seconds of
    audio.

    Args:
        rate: Refill in units per second; 0 stops the flow, infinity lets everything pass.
        burst: Capacity in units, above 0; the bucket starts full.
    """

    __slots__ = ("_burst", "_empty_at", "_held", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        if not 0 < burst < math.inf:
            raise ValueError(f"burst must be above 0 and finite, not {burst}")
        self._burst = burst
        self._rate = self._checked(rate)
        self._empty_at = -math.inf
        self._held = burst

    @property
    def rate(self) -> float:
        """Refill in units per second."""
        return self._rate

    @property
    def burst(self) -> float:
        """Capacity in units."""
        return self._burst

    def available(self, now: float) -> float:
        """Return how much may be sent at once now; negative while `spend` left a debt."""
        if self._rate == 0:
            return self._held
        if self._rate == math.inf:
            return self._burst
        return min(self._burst, (now - self._empty_at) * self._rate)

    def ready_at(self, size: float, now: float) -> float:
        """Return the earliest instant, at or after `now`, at which `size` may be sent.

        Returns:
            Infinity while the rate is 0.

        Raises:
            ValueError: If `size` exceeds `burst`: that moment never comes.
        """
        if size > self._burst:
            raise ValueError(f"{size} never fits a bucket of {self._burst}")
        if self._rate == 0:
            return math.inf
        return max(now, self._empty_at + size / self._rate)

    def take(self, size: float, now: float) -> bool:
        """Send `size` now if it may be sent; False, with nothing taken, if it may not.

        Raises:
            ValueError: If `size` exceeds `burst`.
        """
        rate = self._rate
        if rate == 0 or size > self._burst:
            return self.ready_at(size, now) <= now
        # What `ready_at` and `spend` compute, at once: this is asked for every frame.
        cost = size / rate
        if now < self._empty_at + cost:
            return False
        full = now - self._burst / rate
        self._empty_at = (self._empty_at if self._empty_at > full else full) + cost
        return True

    def spend(self, size: float, now: float) -> None:
        """Take `size` whether or not it is there; what is missing is waited for afterwards."""
        if self._rate == 0:
            self._held -= size
        else:
            full = now - self._burst / self._rate
            self._empty_at = max(self._empty_at, full) + size / self._rate

    def set_rate(self, rate: float, now: float) -> None:
        """Refill at another rate from now on; what is in the bucket stays in it."""
        checked = self._checked(rate)
        self._held = self.available(now)
        self._rate = checked
        self._empty_at = now - self._held / checked if checked else now

    def _checked(self, rate: float) -> float:
        if not rate >= 0:
            raise ValueError(f"rate must be 0 or more, not {rate}")
        return rate if self._burst <= rate * _NEVER else 0.0


class Lead:
    """Lets audio run ahead of its listener by up to `lead`, and from there on go at `rate`.

    A token bucket whose unit is seconds of audio: nothing waits at the start or after a pause,
    and what is ahead after that grows by no more than `rate` - 1 per second, until the
    listener's `flow_control` lowers the rate. Measured on real networks, 2 s and 1.5 stall least
    for what they cost (docs/protocol.md, rule 5).

    Args:
        lead: Seconds of audio that may be sent at once, above 0.
        rate: Multiples of real time; 0 stops, infinity lets everything pass.
    """

    __slots__ = ("_bucket",)

    def __init__(self, lead: float = 2.0, rate: float = 1.5) -> None:
        self._bucket = TokenBucket(rate, lead)

    @property
    def lead(self) -> float:
        """Seconds of audio that may be sent at once."""
        return self._bucket.burst

    @property
    def rate(self) -> float:
        """Multiples of real time."""
        return self._bucket.rate

    def available(self, now: float) -> float:
        """Return how many seconds of audio may be sent at once now; none if not above 0."""
        return 0.0 if self._bucket.rate == 0 else self._bucket.available(now)

    def ready_at(self, duration: float, now: float) -> float:
        """Return the earliest instant at which a frame of `duration` may be sent.

        A frame longer than `lead` goes when the whole lead is free, and the time it takes too
        much is waited for after it.
        """
        return self._bucket.ready_at(min(duration, self._bucket.burst), now)

    def take(self, duration: float, now: float) -> bool:
        """Send a frame of `duration` now if it may be sent; False if it may not yet."""
        if now < self.ready_at(duration, now):
            return False
        self._bucket.spend(duration, now)
        return True

    def set_rate(self, rate: float, now: float) -> None:
        """Obey a `flow_control` from now on."""
        self._bucket.set_rate(rate, now)
