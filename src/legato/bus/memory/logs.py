"""All streams of a memory bus: made, kept alive, followed, erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count

from legato.bus.base import (
    NO_NOTES,
    Closed,
    Deliver,
    Direction,
    Entry,
    Failed,
    LogWriter,
    Record,
    Stored,
    StreamKey,
    Subscription,
)
from legato.bus.logs import check_note
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.bounds import Bounds
from legato.bus.memory.deadlines import Deadlines
from legato.bus.memory.log import Log, Tally, gone
from legato.bus.memory.notes import Notes
from legato.bus.memory.tombstones import LIFETIME, Tombstones
from legato.bus.memory.writer import Writer
from legato.errors import BusUnavailable, LegatoError, Overloaded, StreamExists


@dataclass(frozen=True, slots=True)
class _Stream:
    logs: Mapping[Direction, Log]
    notes: Notes


class MemoryLogs:
    """Fills the port's `Logs`; used within one event loop."""

    def __init__(self, alarm: Alarm, bounds: Bounds) -> None:
        self._alarm = alarm
        self._bounds = bounds
        self._streams: dict[StreamKey, _Stream] = {}
        self._versions = count(1)
        self._deadlines: Deadlines[StreamKey] = Deadlines()
        self._tombstones = Tombstones(alarm)
        self._tally = Tally()

    async def create(
        self, key: StreamKey, *, ttl: float, notes: Mapping[str, bytes] = NO_NOTES
    ) -> None:
        now = self._alarm.now()
        if self._find(key, now) is not None:
            raise StreamExists(f"stream {key.stream_id!r} exists")
        if self._tombstones.cover(key, now):
            raise StreamExists(
                f"stream {key.stream_id!r} was deleted less than {LIFETIME:g} s ago;"
                " use a fresh stream_id"
            )
        self._check_room()
        logs = {
            direction: Log(key, direction, self._bounds.log_bytes, self._tally)
            for direction in Direction
        }
        self._streams[key] = _Stream(logs, Notes(notes, self._versions, self._tally))
        self._keep(key, now + ttl)

    async def exists(self, key: StreamKey) -> bool:
        return self._find(key, self._alarm.now()) is not None

    async def list(self, tenant: str) -> Set[StreamKey]:
        now = self._alarm.now()
        own = [key for key in self._streams if key.tenant == tenant]
        return {key for key in own if self._find(key, now) is not None}

    def writer(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int = 0,
        stored: Stored | None = None,
        failed: Failed | None = None,
    ) -> LogWriter:
        return Writer(self._log(key, direction), fence, stored=stored, failed=failed)

    def follow(
        self,
        key: StreamKey,
        direction: Direction,
        deliver: Deliver,
        *,
        after: int = 0,
        closed: Closed | None = None,
    ) -> Subscription:
        return self._log(key, direction).follow(deliver, closed, after)

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        return self._present(key).logs[direction].read(after, limit)

    async def trim(
        self, key: StreamKey, direction: Direction, *, upto: int, note: bytes | None = None
    ) -> None:
        check_note(note or b"")
        stream = self._find(key, self._alarm.now())
        if stream is not None and stream.logs[direction].trim(upto) and note is not None:
            stream.notes.put(direction.value, note)

    async def notes(self, key: StreamKey) -> Mapping[str, Record]:
        return self._present(key).notes.records()

    async def note(
        self, key: StreamKey, name: str, value: bytes, *, expected: int | None = None
    ) -> bool:
        return self._present(key).notes.put(name, value, expected=expected)

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        now = self._alarm.now()
        if self._find(key, now) is None:
            return False
        self._keep(key, now + ttl)
        return True

    async def delete(self, key: StreamKey, *, tombstone: bool = True) -> int:
        now = self._alarm.now()
        if self._find(key, now) is None:
            return 0
        erased = sum(len(log) for log in self._streams[key].logs.values())
        self._end(key, gone(key))
        if tombstone:
            self._tombstones.add(key, now)
        return erased

    def sweep(self, now: float) -> float | None:
        """Erase what has outlived its time; return when to come again."""
        for key in self._deadlines.take(now):
            self._end(key, gone(key))
        pending = [self._deadlines.next(), self._tombstones.sweep(now)]
        return min((due for due in pending if due is not None), default=None)

    def close(self) -> None:
        """End all streams: readers and writers are told that the bus went away."""
        for key in tuple(self._streams):
            self._end(key, BusUnavailable("the bus is closed"))

    def counts(self) -> dict[str, int]:
        """Count what is kept, by kind."""
        return {
            "streams": len(self._streams),
            "tombstones": len(self._tombstones),
            "logs_bytes": self._tally.size_bytes,
        }

    def _present(self, key: StreamKey) -> _Stream:
        stream = self._find(key, self._alarm.now())
        if stream is None:
            raise gone(key)
        return stream

    def _find(self, key: StreamKey, now: float) -> _Stream | None:
        if self._deadlines.passed(key, now):
            self._end(key, gone(key))
        return self._streams.get(key)

    def _log(self, key: StreamKey, direction: Direction) -> Log:
        stream = self._find(key, self._alarm.now())
        if stream is not None:
            return stream.logs[direction]
        absent = Log(key, direction, 0, self._tally)
        absent.end(gone(key))
        return absent

    def _keep(self, key: StreamKey, due: float) -> None:
        self._deadlines.set(key, due)
        self._alarm.at(due)

    def _end(self, key: StreamKey, reason: LegatoError) -> None:
        self._deadlines.discard(key)
        stream = self._streams.pop(key)
        for log in stream.logs.values():
            log.end(reason)
        stream.notes.end()

    def _check_room(self) -> None:
        if len(self._streams) >= self._bounds.streams:
            raise Overloaded(f"the bus holds {self._bounds.streams} streams, its limit")
        if self._tally.size_bytes >= self._bounds.logs_bytes:
            raise Overloaded(f"the logs hold {self._bounds.logs_bytes} bytes, their limit")
        if len(self._tombstones) >= self._bounds.tombstones:
            raise Overloaded(
                f"{self._bounds.tombstones} streams, the limit, were deleted within {LIFETIME:g} s"
            )
