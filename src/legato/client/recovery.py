"""How a lost connection is sought again: when, for how long, and what is said in the end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

from legato.client.race import Race
from legato.client.wire import Socket
from legato.errors import ConnectionLost, IdleTimeout, LegatoError
from legato.flow.backoff import INTERACTIVE, Backoff, Generator, Profile

GRACE: Final = 5.0
"""Seconds beyond the server's window: it may have noticed the loss later than we did."""

QUICKEST: Final = 0.5
"""Seconds that an attempt is alone at the least."""

SLOWER: Final = 8
"""How many times longer than the first dial one may take before another begins, at first."""

PATIENCE: Final = 0.25
"""Share of the time of trouble that an attempt is alone, so that few are made of a slow network."""


def is_passing(error: LegatoError) -> bool:
    """Whether a connection that ended with `error` may be followed by a better one."""
    return error.retryable or isinstance(error, IdleTimeout)


class Recovery:
    """One connection's search for the next socket.

    A time of trouble begins at `begin` and lasts until `end`. Attempts in it wait as the profile
    says, from the beginning of the one before: an attempt that nobody answered has waited already.
    It goes on beside the next (`Race`): a server to which many come back at once is late, and what
    is given up costs it as much as what arrives.

    Args:
        dial: Opens a socket.
        rng: Source of the jitter.
        profile: How delays grow; None where nothing is sought again.
        now: Monotonic seconds.

    Attributes:
        since: When the trouble began, or inf.
        until: When it is over for good, or inf.
        cause: What began it, or went wrong last.
    """

    def __init__(
        self,
        dial: Callable[[], Awaitable[Socket]],
        *,
        rng: Generator,
        profile: Profile | None,
        now: Callable[[], float],
    ) -> None:
        self._dial = dial
        self._backoff = Backoff(rng, profile or INTERACTIVE)
        self._asks_again = profile is not None
        self._now = now
        self._took = math.inf
        self._retry_after: float | None = None
        self.since = math.inf
        self.until = math.inf
        self.cause: LegatoError | None = None

    @property
    def under_way(self) -> bool:
        """Whether there is trouble."""
        return self.since < math.inf

    async def dial(self) -> Socket:
        """Open the first socket; how long that takes tells what to expect of later ones.

        A server that goes away, or is full, says when to ask again: behind its address there may
        be another by then. The caller's time bounds how often; `cause` is why it is asked again.

        Raises:
            LegatoError: If that fails.
        """
        while True:
            began = self._now()
            try:
                socket = await self._dial()
            except ConnectionLost as error:
                if error.retry_after is None or not self._asks_again:
                    raise
                self.cause = error
                await asyncio.sleep(self._backoff.next_delay(began, error.retry_after))
            else:
                self._took = self._now() - began
                self.end()
                return socket

    def begin(self, cause: LegatoError, window: float) -> None:
        """There is trouble; if there was already, only the cause is news.

        Args:
            cause: What happened.
            window: Seconds that the server keeps the streams; inf while it still has the old
                connection.
        """
        self.cause = cause
        self._retry_after = cause.retry_after
        if not self.under_way:
            self.since = self._now()
        self.until = min(self.until, self._now() + window + GRACE)

    def end(self) -> None:
        """The streams go on."""
        self.since = self.until = math.inf
        self.cause = None
        self._backoff.reset()

    async def redial(self) -> Socket:
        """Return the next socket, after as many attempts as it takes.

        Raises:
            LegatoError: If the server refuses for good, or the time or the tries are over.
        """
        race = Race(self._dial)
        began = self._now()
        try:
            while True:
                socket = await self._watch(race, self._delay(began))
                if socket is not None:
                    return socket
                if self._retry_after is not None:
                    continue  # an earlier attempt was answered meanwhile
                race.begin()
                began = self._now()
                socket = await self._watch(race, self._patience(began), alone=True)
                if socket is not None:
                    return socket
        finally:
            race.end()

    def given_up(self) -> ConnectionLost:
        """Return what the streams are told when it is over."""
        tries = self._backoff.attempts
        error = ConnectionLost(
            f"the connection was lost and not regained in {self._now() - self.since:.1f} s and"
            f" {tries} {'try' if tries == 1 else 'tries'}: {self.cause}"
        )
        error.__cause__ = self.cause
        return error

    async def _watch(self, race: Race, within: float, *, alone: bool = False) -> Socket | None:
        """Wait for attempts under way; return the socket of one that succeeds, None if none does.

        Args:
            race: They.
            within: Seconds to wait.
            alone: Whether there is no need to wait once none is under way, or the newest failed.

        Raises:
            LegatoError: If the server refuses for good.
        """
        until = self._now() + within
        while True:
            ended = await race.first(max(0.0, until - self._now()))
            if ended is None:
                if alone:
                    self.cause = ConnectionLost("no answer in time")
                    self._retry_after = None
                return None
            if not isinstance(ended, LegatoError):
                return ended
            if not is_passing(ended):
                raise ended
            self.cause = ended
            self._retry_after = ended.retry_after
            if alone:
                return None

    def _delay(self, began: float) -> float:
        """Return the seconds until the next attempt; the one before began at `began`."""
        now = self._now()
        asked = self._retry_after
        if now >= self.until or self._backoff.is_exhausted or now + (asked or 0.0) >= self.until:
            raise self.given_up()
        delay = self._backoff.next_delay(now, asked)
        if asked is None:
            delay -= now - began
        self._retry_after = None
        return max(0.0, min(delay, self.until - now))

    def _patience(self, now: float) -> float:
        """Return the seconds that an attempt is alone: few at first, its packets may be lost."""
        expected = QUICKEST if math.isinf(self._took) else max(QUICKEST, SLOWER * self._took)
        return min(max(expected, PATIENCE * (now - self.since)), max(QUICKEST, self.until - now))
