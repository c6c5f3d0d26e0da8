"""Which of several upstreams is asked next. Pure: the instant is an argument.

The least loaded one whose breaker lets requests pass; of equals, the one that was asked longest
ago.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from legato.engines.upstream.breaker import Breaker, Rules, State
from legato.engines.upstream.faults import Fault
from legato.errors import EngineUnavailable, LegatoError, Overloaded

SOON: Final = 1.0
"""Seconds after which to ask again where all upstreams are merely busy."""

LONGEST_REST: Final = 300.0
"""Seconds for which an upstream's Retry-After is believed."""


@dataclass(slots=True)
class Place:
    """One upstream and what is known of it.

    Attributes:
        number: Its place in the settings, from 0.
        breaker: Whether it may be asked.
        in_flight: Requests under way there.
        turn: Of the pool's requests, the number of the last that went there.
        resting_until: Instant before which it wants no request.
    """

    number: int
    breaker: Breaker
    in_flight: int = 0
    turn: int = 0
    resting_until: float = 0.0


class Pool:
    """The upstreams of one engine.

    Args:
        size: How many there are.
        streams: Requests that each takes at once.
        rules: When one is left alone.
    """

    def __init__(self, size: int, *, streams: int, rules: Rules) -> None:
        self._places = [Place(number, Breaker(rules)) for number in range(size)]
        self._streams = streams
        self._turn = 0

    def take(self, now: float, *, avoid: Collection[int] = ()) -> int:
        """Choose an upstream for a request; `give_back` must follow.

        Args:
            now: The instant.
            avoid: Upstreams that this request was at already.

        Raises:
            Overloaded: If all others that work are busy.
            EngineUnavailable: If no other works.
        """
        others = [place for place in self._places if place.number not in avoid]
        free = [place for place in others if self._admits(place, now)]
        if not free:
            raise self._refusal(others, now)
        place = min(free, key=lambda one: (one.in_flight, one.turn))
        self._turn += 1
        place.turn = self._turn
        place.in_flight += 1
        return place.number

    def give_back(self, number: int) -> None:
        """Take note that a request is over."""
        self._places[number].in_flight -= 1

    def succeed(self, number: int, now: float) -> None:
        """Take note that a request went well."""
        self._places[number].breaker.succeed(now)

    def fail(self, number: int, now: float, fault: Fault) -> None:
        """Take note of how a request failed."""
        place = self._places[number]
        if fault.retry_after is not None:
            rest = min(max(fault.retry_after, 0.0), LONGEST_REST)
            place.resting_until = max(place.resting_until, now + rest)
        if fault.treatment.counts:
            place.breaker.fail(now, for_good=fault.treatment.for_good)

    def probed(self, number: int, now: float, *, well: bool) -> None:
        """Take note of whether anything answers at an upstream's address."""
        breaker = self._places[number].breaker
        if well:
            breaker.cool(now)
        elif breaker.state(now) is not State.OPEN:
            breaker.fail(now)

    def states(self, now: float) -> tuple[State, ...]:
        """Return the state of each upstream."""
        return tuple(place.breaker.state(now) for place in self._places)

    def idle(self) -> tuple[int, ...]:
        """Return the upstreams that serve no request, which alone need a probe."""
        return tuple(place.number for place in self._places if not place.in_flight)

    def _admits(self, place: Place, now: float) -> bool:
        room = {State.CLOSED: self._streams, State.OPEN: 0, State.HALF_OPEN: 1}
        return now >= place.resting_until and place.in_flight < room[place.breaker.state(now)]

    def _refusal(self, others: list[Place], now: float) -> LegatoError:
        working = [place for place in others if place.breaker.state(now) is not State.OPEN]
        if not working:
            wait = min((place.breaker.until for place in others), default=now + SOON) - now
            return EngineUnavailable("no upstream works at the moment", retry_after=wait)
        wait = min(max(place.resting_until - now, SOON) for place in working)
        return Overloaded("all upstreams are busy", retry_after=wait)
