"""Marks of what is gone, kept so that nothing late brings it back."""

from __future__ import annotations

from hashlib import blake2b

from legato.bus.base import StreamKey
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.deadlines import Deadlines

LIFETIME = 300.0
"""Seconds that a tombstone stands."""


class Tombstones:
    """Stream keys that may not be used again yet; only a hash of each is kept."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._deadlines: Deadlines[bytes] = Deadlines()

    def __len__(self) -> int:
        return len(self._deadlines)

    def add(self, key: StreamKey, now: float) -> None:
        """Mark `key` for the next 300 s."""
        self._deadlines.set(_digest(key), now + LIFETIME)
        self._alarm.at(now + LIFETIME)

    def discard(self, key: StreamKey) -> None:
        """Take the mark of `key` away, if there is one."""
        self._deadlines.discard(_digest(key))

    def cover(self, key: StreamKey, now: float) -> bool:
        """Tell whether `key` is marked."""
        mark = _digest(key)
        return mark in self._deadlines and not self._deadlines.passed(mark, now)

    def sweep(self, now: float) -> float | None:
        """Drop marks that have stood long enough; return when to come again."""
        self._deadlines.take(now)
        return self._deadlines.next()


def _digest(key: StreamKey) -> bytes:
    return blake2b(f"{key.tenant}\0{key.stream_id}".encode(), digest_size=16).digest()
