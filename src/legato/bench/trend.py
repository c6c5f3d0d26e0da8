"""Whether a series of readings grows: the slope, and whether it can be chance."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Final

SIGNIFICANT: Final = 1.645
"""Of `score`: above it, growth by chance has a probability of less than 5 % (one-sided)."""


def slope(at: Sequence[float], readings: Sequence[float]) -> float:
    """Return the median slope of all pairs (Theil 1950, Sen 1968): one jump does not make it.

    Args:
        at: Where each reading was taken, in rising order.
        readings: As many.

    Raises:
        ValueError: If there are fewer than two.
    """
    pairs = combinations(range(len(at)), 2)
    slopes = [(readings[b] - readings[a]) / (at[b] - at[a]) for a, b in pairs if at[b] != at[a]]
    if not slopes:
        raise ValueError("a slope needs two readings")
    return statistics.median(slopes)


def score(readings: Sequence[float]) -> float:
    """Return how sure a rise is, in standard deviations (Mann 1945, Kendall 1975; with ties).

    0 for a series that does not move.
    """
    count = len(readings)
    rises = sum((b > a) - (b < a) for a, b in combinations(readings, 2))
    ties = sum(n * (n - 1) * (2 * n + 5) for n in Counter(readings).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance <= 0 or rises == 0:
        return 0.0
    return (rises - math.copysign(1, rises)) / math.sqrt(variance)
