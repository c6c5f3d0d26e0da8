"""Who waits for a slot of an engine: the most pressing first, tenants in turn."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

from legato.worker.turns import Caller, Waiting, first, order

T = TypeVar("T")

QUIET: Final = 0.5
"""Seconds that a call waits before its client is told."""

NEWS_EVERY: Final = 1.0
"""Seconds from one news of a client's place to the next, at least."""

SURVEY: Final = 0.25
"""Seconds for which a survey of all places is used: with thousands that wait, it takes a while."""

TENANTS: Final = 1_024
"""Tenants whose last turn is remembered."""

Queued = Callable[[int], None]
"""Takes a waiting call's place, 1 for the next; called in the event loop."""

ANYONE: Final = Caller()


def untold(place: int) -> None:
    """Tell nobody of a place."""


class WaitingLine:
    """The calls that wait for one engine.

    Args:
        quiet: Seconds that a call waits before it is told its place.
        news_every: Seconds from one news of a place to the next, at least.
        clock: Monotonic seconds; a test may stop it.
    """

    def __init__(
        self,
        *,
        quiet: float = QUIET,
        news_every: float = NEWS_EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet = quiet
        self._news_every = news_every
        self._clock = clock
        self._waiting: dict[int, Waiting] = {}
        self._turns: dict[int, asyncio.Event] = {}
        self._served: OrderedDict[str, int] = OrderedDict()
        self._places: dict[int, int] = {}
        self._surveyed_at = float("-inf")
        self._moved_at = float("-inf")
        self._next = count()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def longest(self) -> float:
        """Seconds for which the call that came first of all has waited; 0 if none waits."""
        oldest = next(iter(self._waiting.values()), None)
        return 0.0 if oldest is None else self._clock() - oldest.since

    async def stand(
        self,
        attempt: Callable[[], T | None],
        *,
        caller: Caller = ANYONE,
        patience: float = float("inf"),
        queued: Queued = untold,
    ) -> T:
        """Wait until this call is the first and `attempt` returns something; return that.

        Args:
            attempt: Tried when the call becomes the first, then with each `wake`.
            caller: For whom it is.
            patience: Seconds to wait while nobody at all is served.
            queued: Told the place once the call has waited for long, then when it has changed.

        Raises:
            TimeoutError: If nobody was served for `patience`.
        """
        now = self._clock()
        waiting = Waiting(next(self._next), now, caller)
        turn = self._turns[waiting.ticket] = asyncio.Event()
        self._waiting[waiting.ticket] = waiting
        told, due = 0, now + self._quiet
        try:
            while True:
                got = attempt() if self._first() is waiting else None
                if got is not None:
                    self._note_served(caller.tenant)
                    return got
                turn.clear()
                until = max(self._moved_at, waiting.since) + patience
                if not await self._woken(turn, min(due, until) - self._clock()):
                    if self._clock() >= max(self._moved_at, waiting.since) + patience:
                        raise TimeoutError
                    due = self._clock() + self._news_every
                    told = self._tell(waiting, told, queued)
        finally:
            del self._waiting[waiting.ticket], self._turns[waiting.ticket]
            self.wake()

    def wake(self) -> None:
        """Let the first try again."""
        following = self._first()
        if following is not None:
            self._turns[following.ticket].set()

    @staticmethod
    async def _woken(turn: asyncio.Event, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                await turn.wait()
        except TimeoutError:
            return False
        return True

    def _first(self) -> Waiting | None:
        if len(self._waiting) <= 1:
            return next(iter(self._waiting.values()), None)
        return first(self._waiting.values(), self._served, self._clock())

    def _note_served(self, tenant: str) -> None:
        self._moved_at = self._clock()
        self._served[tenant] = next(self._next)
        self._served.move_to_end(tenant)
        if len(self._served) > TENANTS:
            self._served.popitem(last=False)

    def _tell(self, waiting: Waiting, told: int, queued: Queued) -> int:
        """Tell a call its place, if it is another than before; return it."""
        now = self._clock()
        if now >= self._surveyed_at + SURVEY or waiting.ticket not in self._places:
            calls = order(list(self._waiting.values()), self._served, now)
            self._places = {call.ticket: place for place, call in enumerate(calls, 1)}
            self._surveyed_at = now
        place = self._places[waiting.ticket]
        if place != told:
            queued(place)
        return place
