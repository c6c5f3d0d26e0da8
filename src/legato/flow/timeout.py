"""How long TCP waits for an acknowledgement before it sends again (RFC 6298)."""

from __future__ import annotations

from typing import Final

FIRST: Final = 1.0
"""Seconds before any round trip was measured (RFC 6298 §2.1)."""

LEAST: Final = 0.2
"""Seconds; the RFC asks for 1 (§2.4), Linux takes 0.2."""

MOST: Final = 60.0
"""Seconds (§2.5)."""


class RetransmissionTimer:
    """Smoothed round-trip time and its variation."""

    def __init__(self) -> None:
        self._smoothed: float | None = None
        self._variation = 0.0

    def measure(self, round_trip: float) -> None:
        """Take a round trip in seconds, of a segment that was sent once (§2.2, §2.3, §3)."""
        if self._smoothed is None:
            self._smoothed, self._variation = round_trip, round_trip / 2
            return
        self._variation += (abs(self._smoothed - round_trip) - self._variation) / 4
        self._smoothed += (round_trip - self._smoothed) / 8

    @property
    def timeout(self) -> float:
        """Seconds until the first retransmission by timeout."""
        if self._smoothed is None:
            return FIRST
        return max(LEAST, min(MOST, self._smoothed + 4 * self._variation))

    @staticmethod
    def doubled(timeout: float) -> float:
        """Return the timeout after one that has passed (§5.5)."""
        return min(MOST, 2 * timeout)
