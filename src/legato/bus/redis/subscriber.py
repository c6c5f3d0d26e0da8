"""The connection on which a process is told things."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer, keep_connected
from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Link, Reply, ReplyError, pack
from legato.bus.redis.servers import Servers
from legato.errors import BusUnavailable

WATCH: Final = 0.5
"""Seconds between looks at whether the connection still says something."""

PING_AFTER: Final = 1.0
"""Seconds of silence after which the server is asked."""

_PING: Final = pack(("PING",))


class Subscriber:
    """Listens to one channel, which has a new name on every connection.

    So nobody who is told that a channel is not heard any more can mean the one after it.

    Args:
        servers: Says where to listen.
        keys: Names the channel.
        config: Time-outs.
        rng: For the pauses between attempts to connect.
        heard: Takes what is pushed.
        moved: Called when a new channel can be heard; what was pushed before may be lost.
        silent: Called once when nothing could be heard for `patience`.

    Attributes:
        token: Of the channel; empty while none can be heard.
    """

    def __init__(
        self,
        servers: Servers,
        keys: Keys,
        config: RedisConfig,
        *,
        rng: Random,
        heard: Callable[[bytes], None],
        moved: Callable[[], None],
        silent: Callable[[BusUnavailable], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._servers = servers
        self._keys = keys
        self._config = config
        self._heard = heard
        self._moved = moved
        self._silent = silent
        self._link: Link | None = None
        self._pinged_at = 0.0
        self._next_token = ""
        self._deaf_since: float | None = self._loop.time()
        self._reason = BusUnavailable("Redis does not answer")
        self._keeper = asyncio.create_task(keep_connected(self, rng))
        self._watch = self._look_later()
        self.token = ""

    async def close(self) -> None:
        """Drop the connection."""
        self._watch.cancel()
        self._keeper.cancel()
        await asyncio.wait((self._keeper,))

    def dialer(self) -> Dialer:
        dialer, self._next_token = self._servers.pick_channel()
        return dialer

    def make_link(self) -> Link:
        return Link(self._take, lambda: None)

    def opened(self, link: Link) -> None:
        self._link = link
        channel = self._keys.channel(self._next_token)
        link.write([pack((self._servers.subscribe, channel))])

    def lost(self) -> None:
        self._link = None
        self.token = ""
        if self._deaf_since is None:
            self._deaf_since = self._loop.time()

    def failed(self, reason: BusUnavailable) -> None:
        self._reason = reason

    def _take(self, reply: Reply) -> None:
        match reply:
            case [b"message" | b"smessage", _, bytes(data)]:
                self._heard(data)
            case [b"subscribe" | b"ssubscribe", *_]:
                self.token = self._next_token
                self._deaf_since = None
                self._moved()
            case ReplyError() if self._link is not None:
                self._reason = BusUnavailable(f"Redis says: {reply}")
                self._link.abort()
            case _:
                pass  # an answer to a ping

    def _look_later(self) -> asyncio.TimerHandle:
        due = self._loop.time() + WATCH
        return self._loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        now = self._loop.time()
        self._watch = self._look_later()
        # If this comes late it is we who were away, and what was said may be in the socket.
        if self._link is not None and now - due < WATCH:
            self._listen_to(self._link, now)
        if self._deaf_since is not None and now - self._deaf_since > self._config.patience:
            self._deaf_since = now
            self._silent(type(self._reason)(self._reason.message))

    def _listen_to(self, link: Link, now: float) -> None:
        if self._pinged_at > link.heard_at:
            if now - self._pinged_at > self._config.attempt:
                link.abort()
        elif now - link.heard_at >= PING_AFTER:
            self._pinged_at = now
            link.write([_PING])
