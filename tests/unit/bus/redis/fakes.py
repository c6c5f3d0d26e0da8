"""Servers that keep what they are asked, for tests of what asks them."""

from __future__ import annotations

from collections.abc import Sequence

import hiredis

from legato.bus.redis.call import Call
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.link import Reply
from legato.errors import LegatoError


class FakeServers:
    """Fills `Servers`; answers when told to."""

    publish = "PUBLISH"
    subscribe = "SUBSCRIBE"
    is_idle = True
    places = (0,)
    calls = 0

    def __init__(self) -> None:
        self.asked: list[Call] = []

    def submit(self, call: Call) -> None:
        self.asked.append(call)

    def pick_channel(self) -> tuple[Dialer, str]:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    def take(self) -> list[list[list[bytes]]]:
        """Return the commands of each call since the last time."""
        asked, self.asked = self.asked, []
        return [commands(call) for call in asked]

    def answer(self, *replies: Reply) -> None:
        """Answer the oldest call, with replies or with what went wrong."""
        first = replies[0]
        self.asked.pop(0).finish(first if isinstance(first, LegatoError) else list(replies))


def commands(call: Call) -> list[list[bytes]]:
    """Return the commands of a call, word by word."""
    return [words(packed) for packed in call.packed]


def words(packed: bytes) -> list[bytes]:
    reader = hiredis.Reader()
    reader.feed(packed)
    found: Sequence[bytes] = reader.gets()
    return list(found)
