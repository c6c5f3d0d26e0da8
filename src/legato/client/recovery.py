"""How a lost connection is sought again: when, for how long, and what is said in the end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

from legato.client.wire import Socket
from legato.errors import ConnectionLost, IdleTimeout, LegatoError
from legato.flow.backoff import INTERACTIVE, Backoff, Generator, Profile

GRACE: Final = 5.0
"""Seconds beyond the server's window: it may have noticed the loss later than we did."""

QUICKEST: Final = 0.5
"""Seconds that an attempt gets at the least."""

SLOWER: Final = 8
"""How many times longer than the first dial one may take before it is given up, at first."""

PATIENCE: Final = 0.25
"""Share of the time of trouble that an attempt gets, so that a slow network is not given up."""


def is_passing(error: LegatoError) -> bool:
    """Whether a connection that ended with `error` may be followed by a better one."""
    return error.retryable or isinstance(error, IdleTimeout)


class Recovery:
    """One connection's search for the next socket.

    A time of trouble begins at `begin` and lasts until `end`. Attempts in it wait as the profile
    says, from the beginning of the one before: an attempt that nobody answered has waited already.

    Args:
        dial: Opens a socket.
        rng: Source of the jitter.
        profile: How delays grow.
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

        Raises:
            LegatoError: If that fails.
        """
        began = self._now()
        socket = await self._dial()
        self._took = self._now() - began
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
        began = self._now()
        while True:
            await self._wait(began)
            began = self._now()
            try:
                async with asyncio.timeout(self._patience(began)):
                    return await self._dial()
            except TimeoutError:
                self.cause = ConnectionLost("no answer in time")
                self._retry_after = None
            except LegatoError as error:
                if not is_passing(error):
                    raise
                self.cause = error
                self._retry_after = error.retry_after

    def given_up(self) -> ConnectionLost:
        """Return what the streams are told when it is over."""
        tries = self._backoff.attempts
        error = ConnectionLost(
            f"the connection was lost and not regained in {self._now() - self.since:.1f} s and"
            f" {tries} {'try' if tries == 1 else 'tries'}: {self.cause}"
        )
        error.__cause__ = self.cause
        return error

    async def _wait(self, began: float) -> None:
        """Wait for the turn of the next attempt; the one before began at `began`."""
        now = self._now()
        asked = self._retry_after
        if now >= self.until or self._backoff.is_exhausted or now + (asked or 0.0) >= self.until:
            raise self.given_up()
        delay = self._backoff.next_delay(now, asked)
        if asked is None:
            delay -= now - began
        self._retry_after = None
        delay = min(delay, self.until - now)
        if delay > 0:
            await asyncio.sleep(delay)

    def _patience(self, now: float) -> float:
        """Return the seconds that an attempt gets: few at first, for its packets may be lost."""
        expected = QUICKEST if math.isinf(self._took) else max(QUICKEST, SLOWER * self._took)
        return min(max(expected, PATIENCE * (now - self.since)), max(QUICKEST, self.until - now))
