"""Where what other processes push is given to whom it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol
from weakref import WeakValueDictionary

from legato.bus.items import Item
from legato.bus.redis.encoding import decode_push
from legato.errors import Internal
from legato.telemetry.logs import logger

log = logger("legato.bus.redis")


class Listener(Protocol):
    """Who can be pushed to."""

    def pushed(self, first: int, token: str, entries: Sequence[tuple[Item, ...]]) -> None:
        """Take the items of entries from number `first` on, which were stored under `token`."""

    def look(self) -> None:
        """Something has changed: look at the log."""


class Inbox:
    """Knows all readers and writers of this process by their handles, which are never used again.

    Args:
        job_waits: Called with an engine's name when a job waits for it.

    Attributes:
        pushes: Messages taken so far, probes not counted.
    """

    def __init__(self, job_waits: Callable[[str], None]) -> None:
        self._job_waits = job_waits
        self._readers: dict[int, Listener] = {}
        self._writers: WeakValueDictionary[int, Listener] = WeakValueDictionary()
        self._handles = count(1)
        self._probes: dict[int, Callable[[], None]] = {}
        self.pushes = 0

    def add_reader(self, reader: Listener) -> int:
        """Return the handle of a reader, which is kept until it is removed."""
        handle = next(self._handles)
        self._readers[handle] = reader
        return handle

    def remove_reader(self, handle: int) -> None:
        """Forget a reader."""
        self._readers.pop(handle, None)

    def add_writer(self, writer: Listener) -> int:
        """Return the handle of a writer, which is known for as long as somebody else holds it."""
        handle = next(self._handles)
        self._writers[handle] = writer
        return handle

    def writers(self) -> list[tuple[int, Listener]]:
        """Return the writers that are still there, by handle."""
        return list(self._writers.items())

    def expect_probe(self, arrived: Callable[[], None]) -> int:
        """Return a number; `arrived` is called when it comes."""
        handle = next(self._handles)
        self._probes[handle] = arrived
        return handle

    def forget_probe(self, handle: int) -> None:
        """Expect a number no longer."""
        self._probes.pop(handle, None)

    def take(self, data: bytes) -> None:
        """Hand on what was pushed."""
        try:
            entries, push = decode_push(data)
        except Internal:
            log.exception("push not understood", size=len(data))
            return
        for handle, first, token, items in entries:
            reader = self._readers.get(handle)
            if reader is not None:
                reader.pushed(first, token, items)
        for handle in push.looks:
            self._look(handle)
        for engine in push.engines:
            self._job_waits(engine)
        for number in push.probes:
            self._probes.pop(number, _nothing)()
        self.pushes += bool(entries or push.looks or push.engines)

    def _look(self, handle: int) -> None:
        listener = self._readers.get(handle) or self._writers.get(handle)
        if listener is not None:
            listener.look()


def _nothing() -> None:
    """A probe that nobody waits for any more."""
