"""Whether Redis still has what it had: one small key on each server, looked at every second."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from functools import partial
from typing import Final

from legato.bus.redis.call import Call, Outcome
from legato.bus.redis.keys import Keys
from legato.bus.redis.servers import Servers

EVERY: Final = 1.0
"""Seconds between looks."""

KEPT_MS: Final = 3_600_000
"""How long the key outlives the last process that looked at it: longer than any stream does."""


class Watch:
    """Notices that a server has lost its data while the connection to it held (FLUSHALL).

    Each server has a key with a random value, the epoch, which the first process writes. Whoever
    finds none, or another, knows that the data is not what it was. What that means for a stream,
    its readers and writers find out themselves (`loss`).

    Args:
        servers: To be watched.
        keys: Names the epochs.
        lost: Called when a server has lost its data.
        looked: Called with every look.
        every: Seconds between looks.
    """

    def __init__(
        self,
        servers: Servers,
        keys: Keys,
        *,
        lost: Callable[[], None],
        looked: Callable[[], None],
        every: float = EVERY,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._servers = servers
        self._keys = keys
        self._lost = lost
        self._looked = looked
        self._every = every
        self._epochs: dict[str, bytes] = {}
        self._asked: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Look now, and again and again until closed."""
        self._timer = self._loop.call_later(self._every, self.look)
        for place in self._servers.places:
            key = self._keys.epoch(place)
            if key not in self._asked:
                self._asked.add(key)
                command = ("GETEX", key, "PX", KEPT_MS)
                self._servers.submit(Call(key, [command], partial(self._read, key)))
        self._looked()

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read(self, key: str, outcome: Outcome) -> None:
        match outcome:
            case [None]:
                self._compare(key, None)
                command = ("SET", key, secrets.token_hex(6), "NX", "PX", KEPT_MS)
                commands = [command, ("GET", key)]
                self._servers.submit(Call(key, commands, partial(self._written, key)))
            case [bytes(epoch)]:
                self._asked.discard(key)
                self._compare(key, epoch)
            case _:
                self._asked.discard(key)

    def _written(self, key: str, outcome: Outcome) -> None:
        self._asked.discard(key)
        match outcome:
            case [_, bytes(epoch)]:
                self._epochs[key] = epoch

    def _compare(self, key: str, epoch: bytes | None) -> None:
        known = self._epochs.pop(key, None)
        if epoch is not None:
            self._epochs[key] = epoch
        if known is not None and known != epoch:
            self._lost()
