"""Finding keys by a pattern, on every node; for what is done rarely, as each key is looked at."""

from __future__ import annotations

from typing import Final

from legato.bus.redis.keys import Keys
from legato.bus.redis.link import Reply
from legato.bus.redis.servers import Servers, ask
from legato.errors import Internal

PAGE: Final = 1000
"""Keys that the server looks at in one go, during which it does nothing else: under 1 ms."""


async def scan(servers: Servers, keys: Keys, pattern: str) -> set[str]:
    """Return the keys that match.

    All are found that are there from beginning to end (SCAN), unless a slot moves to another node
    meanwhile.

    Args:
        servers: All of them are asked.
        keys: Names one key of each.
        pattern: As of KEYS.

    Raises:
        BusUnavailable: If one of them does not answer in time.
    """
    found: set[str] = set()
    for place in tuple(servers.places):
        cursor = b"0"
        while True:
            command = ("SCAN", cursor, "MATCH", pattern, "COUNT", PAGE)
            (reply,) = await ask(servers, keys.epoch(place), command)
            cursor, names = _page(reply)
            found.update(names)
            if cursor == b"0":
                break
    return found


def _page(reply: Reply) -> tuple[bytes, list[str]]:
    match reply:
        case [bytes(cursor), [*names]]:
            return cursor, [name.decode() for name in names if isinstance(name, bytes)]
    raise Internal(f"Redis answers what was not asked: {type(reply).__name__}")
