"""Who of those that wait for an engine comes first: one table, and round robin between tenants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

NEAR: Final = 2.0
"""Seconds of audio that a listener has left, below which the next must be made now."""

PATIENCE: Final = 5.0
"""Seconds of waiting that lift a call by one rank, so that none waits for ever."""

NEVER: Final = float("-inf")


class Rank(IntEnum):
    """Which calls come before which."""

    DUE = 0
    """Of a stream under way whose client would soon have nothing."""
    FIRST = 1
    """The first of a new stream: somebody waits for an answer."""
    AHEAD = 2
    """Of a stream that has said more than has been listened to, or that hands out all at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """For whom a call is made.

    Attributes:
        tenant: Whose stream it is.
        under_way: Whether the stream has been served before.
        covered_until: Instant until which its listener has something to hear.
        patient: Whether nothing is streamed, so that nobody waits for a first piece.
    """

    tenant: str = ""
    under_way: bool = False
    covered_until: float = NEVER
    patient: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits.

    Attributes:
        ticket: Rises with each that comes.
        since: When it came, in monotonic seconds.
        caller: For whom it is.
    """

    ticket: int
    since: float
    caller: Caller


_RANKS: Final = MappingProxyType(
    {
        # under way, covered
        (True, False): Rank.DUE,
        (False, False): Rank.FIRST,
        (False, True): Rank.FIRST,
        (True, True): Rank.AHEAD,
    }
)


def rank(waiting: Waiting, now: float) -> Rank:
    """Return how pressing a call is at `now`."""
    caller = waiting.caller
    covered = caller.covered_until >= now + NEAR
    base = Rank.AHEAD if caller.patient else _RANKS[caller.under_way, covered]
    lifts = int((now - waiting.since) / PATIENCE)
    return Rank(max(Rank.DUE, base - lifts))


def first(calls: Iterable[Waiting], served: Mapping[str, int], now: float) -> Waiting:
    """Return the first of `order`, in one pass; there must be one."""
    return min(
        calls,
        key=lambda call: (rank(call, now), served.get(call.caller.tenant, -1), call.ticket),
    )


def order(calls: Sequence[Waiting], served: Mapping[str, int], now: float) -> list[Waiting]:
    """Sort calls by rank; within one, tenants take turns; within a tenant, first come first served.

    Args:
        calls: Those that wait, in the order of their tickets.
        served: When each tenant last had a turn, as a number that rises; none for never.
        now: Monotonic seconds.
    """
    rounds: dict[tuple[Rank, str], int] = {}
    keys: dict[int, tuple[Rank, int, int, int]] = {}
    for call in calls:
        tenant, urgency = call.caller.tenant, rank(call, now)
        turn = rounds.get((urgency, tenant), 0)
        rounds[urgency, tenant] = turn + 1
        keys[call.ticket] = (urgency, turn, served.get(tenant, -1), call.ticket)
    return sorted(calls, key=lambda call: keys[call.ticket])
