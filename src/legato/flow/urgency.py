"""How pressing it is to go on with a stream: the one table behind slots and batches."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import Final

NEAR: Final = 2.0
"""Seconds of audio that a listener has left, below which the next sentence must be made now."""

PATIENCE: Final = 5.0
"""Seconds of waiting that lift a stream by one rank, so that none waits for ever."""

NEVER: Final = float("-inf")


class Rank(IntEnum):
    """Which streams come before which."""

    DUE = 0
    """It is under way and its client would soon have nothing."""
    FIRST = 1
    """It is new: somebody waits for an answer."""
    AHEAD = 2
    """It has said more than has been listened to, or hands out all at once."""


_RANKS: Final = MappingProxyType(
    {
        # under way, covered
        (True, False): Rank.DUE,
        (False, False): Rank.FIRST,
        (False, True): Rank.FIRST,
        (True, True): Rank.AHEAD,
    }
)


def standing(*, under_way: bool, covered_until: float, now: float, near: float = NEAR) -> Rank:
    """Return how a stream stands to its listener.

    Args:
        under_way: Whether anything of it has been given.
        covered_until: Instant until which its listener has something to hear.
        now: Monotonic seconds.
        near: Seconds of audio left, below which the next must be made now.
    """
    return _RANKS[under_way, covered_until >= now + near]


def lifted(rank: Rank, *, waited: float) -> Rank:
    """Return the rank of one that has waited for so many seconds."""
    return Rank(max(Rank.DUE, rank - int(waited / PATIENCE)))
