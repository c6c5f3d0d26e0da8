"""Telling other processes what was stored: one message for each and turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from legato.bus.redis.call import Call, Outcome
from legato.bus.redis.encoding import Push, encode_push
from legato.bus.redis.keys import Keys
from legato.bus.redis.scripts import DETACH
from legato.bus.redis.servers import Servers

INLINE_BYTES: Final = 256 << 10
"""Most that one message carries; larger entries are read from the log."""

Place = tuple[str, str]
"""A stream's record, and the field of it that lists who is told."""


@dataclass(slots=True)
class _Parcel:
    push: Push = field(default_factory=Push)
    size_bytes: int = 0
    places: set[Place] = field(default_factory=set)


class Pushes:
    """Gathers and sends what is to be told. A push is a hint: when it is lost, the log is not.

    Args:
        servers: Carries the messages.
        keys: Names the channels.
    """

    def __init__(self, servers: Servers, keys: Keys) -> None:
        self._servers = servers
        self._keys = keys
        self._parcels: dict[str, _Parcel] = {}
        self._flushing: asyncio.Handle | None = None
        self._closed = False

    def entries(
        self, listeners: str, first: int, token: str, payloads: Sequence[bytes], place: Place
    ) -> None:
        """Tell readers, as their log lists them, of entries from number `first` on."""
        size_bytes = sum(map(len, payloads))
        if size_bytes > INLINE_BYTES:
            self.looks(listeners, place)
            return
        raw = [msgspec.Raw(payload) for payload in payloads]
        for channel, handle in _split(listeners):
            parcel = self._parcel(channel)
            if parcel.size_bytes + size_bytes > INLINE_BYTES:
                self._send(channel, self._parcels.pop(channel))
                parcel = self._parcel(channel)
            parcel.places.add(place)
            parcel.size_bytes += size_bytes
            parcel.push.entries.append((handle, first, token, raw))

    def looks(self, listeners: str, place: Place | None = None) -> None:
        """Tell readers or writers, as their log lists them, to look at it."""
        for channel, handle in _split(listeners):
            parcel = self._parcel(channel)
            parcel.push.looks.append(handle)
            if place is not None:
                parcel.places.add(place)

    def detach(self, place: Place, listener: str) -> None:
        """Take a listener, or all of a channel, off a list, and tell the log's writers."""
        record, name = place

        def done(outcome: Outcome) -> None:
            if isinstance(outcome, list) and isinstance(outcome[0], bytes):
                self.looks(outcome[0].decode(), (record, f"{name[0]}w"))

        self._servers.submit(Call(record, [DETACH((record,), name, listener)], done))

    def job(self, channels: Iterable[str], engine: str) -> None:
        """Tell workers that a job waits for an engine."""
        for channel in channels:
            self._parcel(channel).push.engines.append(engine)

    def probe(self, channel: str, number: int) -> None:
        """Send a number over a channel."""
        self._parcel(channel).push.probes.append(number)

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        if self._flushing is not None:
            self._flushing.cancel()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return self._closed or not self._parcels

    def _parcel(self, channel: str) -> _Parcel:
        if self._flushing is None and not self._closed:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)
        return self._parcels.setdefault(channel, _Parcel())

    def _flush(self) -> None:
        self._flushing = None
        parcels, self._parcels = self._parcels, {}
        for channel, parcel in parcels.items():
            self._send(channel, parcel)

    def _send(self, channel: str, parcel: _Parcel) -> None:
        def done(outcome: Outcome) -> None:
            if isinstance(outcome, list) and outcome[0] == 0:
                # Nobody hears this channel, nor ever will.
                for place in parcel.places:
                    self.detach(place, f"{channel}/")

        name = self._keys.channel(channel)
        command = (self._servers.publish, name, encode_push(parcel.push))
        self._servers.submit(Call(name, [command], done))


@lru_cache(maxsize=4096)
def _split(listeners: str) -> tuple[tuple[str, int], ...]:
    """Return channel and handle of each listener of a list."""
    pairs = (listener.partition("/") for listener in listeners.split())
    return tuple((channel, int(handle)) for channel, _, handle in pairs)
