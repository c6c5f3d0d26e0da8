"""All readers of a process: told by pushes, and looking by themselves where none comes."""

from __future__ import annotations

import asyncio
from typing import Final

from legato.bus.base import Closed, Deliver, Direction, StreamKey
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.inbox import Inbox
from legato.bus.redis.keys import Keys
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.reader import Follower
from legato.bus.redis.servers import Servers
from legato.errors import LegatoError

RAREST_LOOK: Final = 16.0
"""Seconds between looks at a log that stays silent."""


class Readers:
    """Opens, lists and ends followers.

    Args:
        servers: Where logs are.
        inbox: Gives readers what is pushed.
        pushes: Tells writers of readers.
        keys: Names the logs.
        config: How often to look.
    """

    def __init__(
        self, servers: Servers, inbox: Inbox, pushes: Pushes, *, keys: Keys, config: RedisConfig
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._servers = servers
        self._pushes = pushes
        self._inbox = inbox
        self._keys = keys
        self._look_every = config.look_every
        self._followers: dict[int, Follower] = {}
        self._token = ""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._followers)

    def follow(
        self,
        key: StreamKey,
        direction: Direction,
        deliver: Deliver,
        *,
        after: int,
        closed: Closed | None,
    ) -> Follower:
        """Begin to follow a log."""
        follower = Follower(
            key,
            direction,
            deliver=deliver,
            closed=closed,
            after=after,
            keys=self._keys.stream(key),
            servers=self._servers,
            pushes=self._pushes,
            ended=self._forget,
        )
        follower.handle = self._inbox.add_reader(follower)
        self._followers[follower.handle] = follower
        if self._token:
            # Not within this call: a bus that is closed answers at once.
            self._loop.call_soon(follower.attach, self._token)
        self._look_later()
        return follower

    def move(self, token: str) -> None:
        """Be told on another channel; what was pushed meanwhile is read."""
        self._token = token
        for follower in tuple(self._followers.values()):
            follower.attach(token)

    def look(self) -> None:
        """Look at all logs now."""
        for follower in tuple(self._followers.values()):
            follower.look()

    def end(self, reason: LegatoError) -> None:
        """End all followers."""
        for follower in tuple(self._followers.values()):
            follower.end(type(reason)(reason.message))

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _forget(self, follower: Follower) -> None:
        self._followers.pop(follower.handle, None)
        self._inbox.remove_reader(follower.handle)
        if self._token and not self._closed:
            self._pushes.detach(follower.place, f"{self._token}/{follower.handle}")

    def _look_later(self) -> None:
        if self._timer is None and self._followers and not self._closed:
            self._timer = self._loop.call_later(self._look_every, self._look_at_silent)

    def _look_at_silent(self) -> None:
        self._timer = None
        now = self._loop.time()
        for follower in tuple(self._followers.values()):
            pause = min(self._look_every * 2.0 ** min(follower.looks, 10), RAREST_LOOK)
            if now - follower.news_at >= pause:
                follower.news_at = now
                follower.looks += 1
                follower.look()
        self._look_later()
