"""When appends go out: at once while there are few, gathered for some milliseconds when many."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from legato.bus.redis.config import RedisConfig
from legato.bus.redis.keys import Keys
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.servers import Servers

FULL_RATE: Final = 3000.0
"""Appends a second at which the window is fully open: from here on a round trip carries 15."""

SHORTEST: Final = 0.0005
"""Seconds; below that, waiting costs a timer and gathers nothing."""

MEMORY: Final = 0.1
"""Seconds over which the rate is averaged."""


class Sender(Protocol):
    """A writer with something to send."""

    def send(self) -> int:
        """Send it, and return how many entries that were."""


class Outbox:
    """One for a process: the writers of all streams share its round trips.

    Args:
        servers: Carries the calls.
        pushes: Tells the readers.
        keys: Names what is written.
        config: Sizes and times.

    Attributes:
        is_closed: Whether nothing is sent any more.
    """

    def __init__(self, servers: Servers, pushes: Pushes, keys: Keys, config: RedisConfig) -> None:
        self._loop = asyncio.get_running_loop()
        self.servers = servers
        self.pushes = pushes
        self.keys = keys
        self.config = config
        self._due: dict[Sender, None] = {}
        self._timer: asyncio.Handle | None = None
        self._rate = 0.0
        self.is_closed = False
        self._flushed_at = self._loop.time()

    @property
    def is_idle(self) -> bool:
        """Whether nobody has anything to send."""
        return not self._due

    @property
    def window(self) -> float:
        """Seconds that an append may wait for others, now."""
        return self.config.window * min(1.0, self._rate / FULL_RATE)

    def schedule(self, sender: Sender) -> None:
        """Let a writer send when the window closes."""
        if self.is_closed:
            return
        self._due[sender] = None
        if self._timer is None:
            window = self.window
            if window < SHORTEST:
                self._timer = self._loop.call_soon(self._flush)
            else:
                self._timer = self._loop.call_later(window, self._flush)

    def close(self) -> None:
        """Send nothing more."""
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        self._timer = None
        due, self._due = self._due, {}
        count = sum([sender.send() for sender in due])
        now = self._loop.time()
        # The clock of a loop stands still for a turn, so two flushes may seem to be at once.
        passed = max(now - self._flushed_at, SHORTEST)
        self._flushed_at = now
        self._rate += (count / passed - self._rate) * min(1.0, passed / MEMORY)
