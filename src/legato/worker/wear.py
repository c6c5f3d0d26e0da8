"""When something that has been used often is replaced."""

from __future__ import annotations

from random import Random


class Uses:
    """Counts uses up to a number that differs a little each time.

    Many that began together are not replaced together, which would leave none for a moment.

    Args:
        limit: Uses in the middle; None for any number.
        jitter: By how many more or less that may be.
        rng: Draws it.
    """

    def __init__(self, limit: int | None, jitter: int, rng: Random) -> None:
        self._left: float = float("inf")
        if limit is not None:
            spread = min(jitter, limit - 1)
            self._left = limit + rng.randint(-spread, spread)

    def take(self) -> bool:
        """Count one; tell whether that was the last."""
        self._left -= 1
        return self._left == 0
