"""One direction of one stream: entries, their readers, and who may write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol
from weakref import WeakSet

import msgspec

from legato.bus.base import (
    Closed,
    Deliver,
    Direction,
    Entry,
    Item,
    StreamKey,
)
from legato.bus.memory.turn import Turn
from legato.errors import (
    Internal,
    LegatoError,
    Overloaded,
    ResumeGap,
    SessionExpired,
    SessionReplaced,
)
from legato.protocol.media import AudioFrame

ITEM_BYTES = 320
"""Cost of an item beside its payload: entry, tuple, frame and numbers (measured: 325 with
CPython 3.11)."""

BATCH = 256
"""Entries that one call delivers, so that a long backlog does not hold up the loop."""

_encode = msgspec.msgpack.Encoder().encode


class Tally:
    """Bytes held by all logs of a bus together."""

    __slots__ = ("size_bytes", "turn")

    def __init__(self) -> None:
        self.size_bytes = 0
        self.turn = Turn()


class Follower:
    """A reader's place; fills the port's `Subscription`."""

    __slots__ = ("closed", "deliver", "log", "open", "position")

    def __init__(self, log: Log, deliver: Deliver, closed: Closed | None, after: int) -> None:
        self.log = log
        self.deliver = deliver
        self.closed = closed
        self.position = after
        self.open = True

    def close(self) -> None:
        self.open = False
        self.log.forget(self)

    def end(self, reason: LegatoError) -> None:
        """Close and tell why, unless that is done."""
        if not self.open:
            return
        self.close()
        if self.closed is not None:
            self.closed(reason)


class Watcher(Protocol):
    """A writer that wants to know when it can write no more.

    Attributes:
        fence: Its own.
    """

    fence: int

    def fail(self, reason: LegatoError) -> None:
        """It can write no more."""


class Log:
    """Numbered entries from the first one kept to the last one appended.

    Made within the event loop. Appending schedules at most one delivery for each turn of the loop.

    Attributes:
        trimmed: Number of the last entry forgotten, 0 for none.
        last: Number of the last entry appended, 0 for none.
        size_bytes: What is kept.
        fence: The highest one seen; lower ones may not write.
        reason: Why the log is gone, or None while it lives.
    """

    __slots__ = (
        "_bound",
        "_direction",
        "_entries",
        "_followers",
        "_key",
        "_loop",
        "_scheduled",
        "_sizes",
        "_tally",
        "_turn",
        "_waiting",
        "_writers",
        "fence",
        "last",
        "reason",
        "size_bytes",
        "trimmed",
    )

    def __init__(self, key: StreamKey, direction: Direction, bound: int, tally: Tally) -> None:
        self._key = key
        self._direction = direction
        self._bound = bound
        self._tally = tally
        self._turn = tally.turn
        self._loop = asyncio.get_running_loop()
        self._entries: list[Entry] = []
        self._sizes: list[int] = []
        self._followers: list[Follower] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._writers: WeakSet[Watcher] | None = None
        self._scheduled = False
        self.trimmed = 0
        self.last = 0
        self.size_bytes = 0
        self.fence = 0
        self.reason: LegatoError | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, items: Sequence[Item]) -> int:
        """Store one entry and return its number; who may write is the caller's to check."""
        if not items:
            raise ValueError("an entry holds at least one item")
        if self.size_bytes >= 2 * self._bound:
            raise Overloaded(
                f"the {self._direction} log of stream {self._key.stream_id!r} holds"
                f" {self.size_bytes} bytes that its reader is not done with; wait for room"
            )
        size_bytes = 0
        for item in items:
            payload = item.payload if type(item) is AudioFrame else _encode(item)
            size_bytes += len(payload) + ITEM_BYTES
        self.last = number = self.last + 1
        self._entries.append(Entry(number, tuple(items)))
        self._sizes.append(size_bytes)
        self.size_bytes += size_bytes
        self._tally.size_bytes += size_bytes
        if self._followers and not self._scheduled:
            self._scheduled = True
            self._turn.call(self._deliver)
        return number

    def read(self, after: int, limit: int) -> Sequence[Entry]:
        """Return entries above `after`; raises `ResumeGap`."""
        start = after - self.trimmed
        if start < 0:
            raise self._gap(after)
        return self._entries[start : start + limit]

    def trim(self, upto: int) -> bool:
        """Forget entries up to `upto` and let writers go on if that makes room.

        Returns:
            Whether there was something to forget.
        """
        count = min(upto, self.last) - self.trimmed
        if count <= 0:
            return False
        freed_bytes = sum(self._sizes[:count])
        del self._entries[:count], self._sizes[:count]
        self.trimmed += count
        self.size_bytes -= freed_bytes
        self._tally.size_bytes -= freed_bytes
        if self.size_bytes < self._bound:
            self._wake()
        return True

    def follow(self, deliver: Deliver, closed: Closed | None, after: int) -> Follower:
        """Add a reader; what is there already comes with the next turn of the loop."""
        follower = Follower(self, deliver, closed, after)
        if self.reason is not None:
            self._loop.call_soon(follower.end, self.reason)
            return follower
        self._followers.append(follower)
        self._schedule()
        return follower

    def forget(self, follower: Follower) -> None:
        """Drop a reader, if it is there."""
        if follower in self._followers:
            self._followers.remove(follower)

    def raise_fence(self, fence: int) -> None:
        """Shut out writers with a fence below `fence`."""
        if fence > self.fence:
            self.fence = fence
            self._wake()
            self._fail_writers()

    def watch(self, writer: Watcher) -> None:
        """Have `writer` told when it can write no more, for as long as somebody else holds it."""
        if self._writers is None:
            self._writers = WeakSet()
        self._writers.add(writer)
        self._fail_writers()

    def after_turn(self, call: Callable[[], None]) -> None:
        """Have `call` called once what was appended in this turn of the loop is in."""
        self._turn.call(call)

    def end(self, reason: LegatoError) -> None:
        """Drop everything and tell readers and writers that the log is gone."""
        self.reason = reason
        self._tally.size_bytes -= self.size_bytes
        self.size_bytes = 0
        self._entries.clear()
        self._sizes.clear()
        for follower in self._followers:
            self._loop.call_soon(follower.end, reason)
        self._wake()
        self._fail_writers()

    @property
    def has_room(self) -> bool:
        """Whether less than the bound is kept."""
        return self.size_bytes < self._bound

    async def room(self, admit: Callable[[], None]) -> None:
        """Wait until less than the bound is kept; `admit` raises if waiting has become vain."""
        admit()
        while self.size_bytes >= self._bound:
            waiter = self._loop.create_future()
            self._waiting.add(waiter)
            try:
                await waiter
            finally:
                self._waiting.discard(waiter)
            admit()

    def refusal(self, fence: int) -> LegatoError | None:
        """Return why a writer with `fence` may not write, None if it may."""
        if self.reason is not None:
            return type(self.reason)(self.reason.message)
        if fence < self.fence:
            return SessionReplaced(
                f"writer {fence} of the {self._direction} log of stream {self._key.stream_id!r}"
                f" was replaced by {self.fence}"
            )
        return None

    def _fail_writers(self) -> None:
        for writer in tuple(self._writers or ()):
            refusal = self.refusal(writer.fence)
            if refusal is not None and self._writers is not None:
                self._writers.discard(writer)
                self._loop.call_soon(writer.fail, refusal)

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._turn.call(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        for follower in tuple(self._followers):
            if follower.open:
                self._serve(follower)

    def _serve(self, follower: Follower) -> None:
        start = follower.position - self.trimmed
        if start < 0:
            self._drop(follower, self._gap(follower.position))
            return
        batch = self._entries[start : start + BATCH]
        if not batch:
            return
        follower.position += len(batch)
        try:
            follower.deliver(batch)
        except Exception as error:  # noqa: BLE001 - one reader's fault must not cost the others
            self._loop.call_exception_handler(
                {"message": "the reader of a log raised", "exception": error}
            )
            self._drop(follower, Internal("the reader of the log raised"))
        if follower.position < self.last:
            self._schedule()

    def _drop(self, follower: Follower, reason: LegatoError) -> None:
        self.forget(follower)
        self._loop.call_soon(follower.end, reason)

    def _gap(self, after: int) -> ResumeGap:
        return ResumeGap(
            f"entries {after + 1} to {self.trimmed} of the {self._direction} log of stream"
            f" {self._key.stream_id!r} were trimmed",
            missing=(after + 1, self.trimmed + 1),
        )


def gone(key: StreamKey) -> SessionExpired:
    """Return the error of a stream that is not there."""
    return SessionExpired(
        f"stream {key.stream_id!r} is not here: never was, deleted, or its time to live passed"
    )
