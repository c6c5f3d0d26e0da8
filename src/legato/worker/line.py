"""Who waits for a slot of an engine: first come, first served."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

T = TypeVar("T")

QUIET: Final = 0.5
"""Seconds that a call waits before its client is told."""

NEWS_EVERY: Final = 1.0
"""Seconds from one news of a client's place to the next, at least."""

Queued = Callable[[int], None]
"""Takes a waiting call's place, 1 for the next; called in the event loop."""


def untold(place: int) -> None:
    """Tell nobody of a place."""


class WaitingLine:
    """The calls that wait for one engine.

    Args:
        quiet: Seconds that a call waits before it is told its place.
        news_every: Seconds from one news of a place to the next, at least.
    """

    def __init__(self, *, quiet: float = QUIET, news_every: float = NEWS_EVERY) -> None:
        self._quiet = quiet
        self._news_every = news_every
        self._tickets: list[int] = []
        self._turns: dict[int, asyncio.Event] = {}
        self._next = count()

    def __len__(self) -> int:
        return len(self._tickets)

    async def stand(self, attempt: Callable[[], T | None], *, queued: Queued = untold) -> T:
        """Wait until this call is the first and `attempt` returns something; return that.

        Args:
            attempt: Tried when the call becomes the first, then with each `wake`.
            queued: Told the place once the call has waited for long, then when it has changed.
        """
        ticket = next(self._next)
        turn = self._turns[ticket] = asyncio.Event()
        self._tickets.append(ticket)
        loop = asyncio.get_running_loop()
        told, due = 0, loop.time() + self._quiet
        try:
            while True:
                got = attempt() if self._tickets[0] == ticket else None
                if got is not None:
                    return got
                turn.clear()
                try:
                    async with asyncio.timeout_at(due):
                        await turn.wait()
                except TimeoutError:
                    due = loop.time() + self._news_every
                    place = bisect_left(self._tickets, ticket) + 1
                    if place != told:
                        told = place
                        queued(place)
        finally:
            del self._tickets[bisect_left(self._tickets, ticket)], self._turns[ticket]
            self.wake()

    def wake(self) -> None:
        """Let the first try again."""
        if self._tickets:
            self._turns[self._tickets[0]].set()
