"""Which streams a step of a batch engine takes, and how long it waits for more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from legato.flow.urgency import NEVER, Rank, lifted, standing

NEAR: Final = 0.5
"""Seconds of audio that a listener has left, below which the next step must be for it. A step is a
few hundredths of a second: many fit in, and who is new need not wait until all others have much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How a stream that has work stands.

    Attributes:
        ticket: By which it is known.
        turn: When it last got a step, or joined, as a number that rises; of those in one step too.
        since: When it last got a step, or joined; monotonic seconds.
        under_way: Whether anything has come of it.
        covered_until: Instant until which its listener has something to hear.
        last_words: Whether all has been heard and what is left is waited for.
    """

    ticket: int
    turn: int
    since: float
    under_way: bool = False
    covered_until: float = NEVER
    last_words: bool = False


def rank(place: Place, now: float) -> Rank:
    """Return how pressing a stream is at `now`."""
    base = standing(
        under_way=place.under_way, covered_until=place.covered_until, now=now, near=NEAR
    )
    return lifted(Rank.DUE if place.last_words else base, waited=now - place.since)


def chosen(places: Iterable[Place], capacity: int, now: float) -> list[int]:
    """Return the tickets of the streams that a step takes, the most pressing first.

    Within a rank they take turns.

    Args:
        places: Streams that have work.
        capacity: Streams that one step takes.
        now: Monotonic seconds.
    """
    queue = sorted(places, key=lambda place: (rank(place, now), place.turn))
    return [place.ticket for place in queue[:capacity]]


def held_until(
    *, ready: int, expected: int, capacity: int, ended: float, took: float, max_wait: float
) -> float:
    """Return the instant until which a step waits for more streams; in the past for not at all.

    Streams that were in the last step and take their next input now would miss a step that begins
    at once, and the batch would split for good into parts that take turns. Nothing waits for longer
    than half a step takes, as that would cost more than it saves, and nothing waits after a rest.

    Args:
        ready: Streams that have work.
        expected: Streams of the last step that have none yet.
        capacity: Streams that one step takes.
        ended: When the last step ended, in monotonic seconds.
        took: Seconds that it took.
        max_wait: Seconds to wait at most.
    """
    if not expected or ready >= capacity:
        return NEVER
    return ended + min(max_wait, took / 2)
