"""A server that is away, for the log: one line when it goes and one when it comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from legato.telemetry.logs import logger

QUIET: Final = 10.0
"""Seconds from one outage that is told to the next, at least: a link may come and go."""

log = logger(__name__)


class Outage:
    """Tells the log; at its first connection a server is not away yet.

    Args:
        address: Of the server.
        clock: Monotonic seconds.
    """

    def __init__(self, address: str, clock: Callable[[], float]) -> None:
        self._address = address
        self._clock = clock
        self._was_here = False
        self._since: float | None = None
        self._told = False
        self._quiet_until = float("-inf")

    def away(self) -> None:
        """The server cannot be reached, or still not."""
        now = self._clock()
        if not self._was_here:
            return
        self._since = now if self._since is None else self._since
        if not self._told and now >= self._quiet_until:
            self._told = True
            self._quiet_until = now + QUIET
            log.warning("redis cannot be reached", address=self._address)

    def here(self) -> None:
        """The server answers."""
        self._was_here = True
        if self._told and self._since is not None:
            seconds = round(self._clock() - self._since, 1)
            log.warning("redis answers again", address=self._address, after=seconds)
        self._since, self._told = None, False
