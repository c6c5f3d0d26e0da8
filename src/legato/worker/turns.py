"""Who of those that wait for an engine comes first: one table, and round robin between tenants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from legato.flow.urgency import NEVER, Rank, lifted, standing
from legato.speech import RecognitionRequest, SynthesisRequest

Request = SynthesisRequest | RecognitionRequest

NEW: Final = 0.3
"""Seconds that a listener can wait who hears nothing yet: one who would fall silent sooner comes
first."""


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


def rank(waiting: Waiting, now: float) -> Rank:
    """Return how pressing a call is at `now`."""
    caller = waiting.caller
    base = standing(under_way=caller.under_way, covered_until=caller.covered_until, now=now)
    if base is Rank.AHEAD and not caller.patient:
        return base  # it does not wait in vain: once its listener has little left it is due
    return lifted(Rank.AHEAD if caller.patient else base, waited=now - waiting.since)


def timed(request: Request, caller: Caller, now: float) -> Request:
    """Return a request that says how long its listener can wait.

    Args:
        request: Any; of a recognition nothing is said.
        caller: For whom it is made.
        now: Monotonic seconds.
    """
    if not isinstance(request, SynthesisRequest):
        return request
    if caller.patient:
        return replace(request, spare=math.inf)
    return replace(request, spare=max(caller.covered_until - now, 0.0 if caller.under_way else NEW))


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
