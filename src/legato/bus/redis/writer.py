"""Appending to a log: buffered, fenced, stored once whatever happens to connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from legato.bus.base import Direction, Item, StreamKey
from legato.bus.redis.call import Call, Outcome, Unknown
from legato.bus.redis.encoding import encode_entry
from legato.bus.redis.faults import translate
from legato.bus.redis.gauge import ENTRY_BYTES, Gauge
from legato.bus.redis.link import Command, Reply, ReplyError
from legato.bus.redis.loss import find_out
from legato.bus.redis.outbox import Outbox
from legato.bus.redis.report import Report
from legato.bus.redis.scripts import WAIT
from legato.bus.redis.tenure import Elsewhere, Tenure, size_of
from legato.errors import BusUnavailable, Internal, LegatoError, Overloaded, SessionExpired

BATCH_ENTRIES: Final = 256
BATCH_BYTES: Final = 1 << 20
"""Most that one command stores, so that it does not hold up the server."""

RETRY: Final = 0.1
"""Seconds until what could not be stored is sent again."""

LONGEST_LOOK: Final = 1.0
"""Seconds between looks at a full log; whoever makes room also says so."""

DOUBTS: Final = 5
"""Times in a row that a server may refuse entries to who has just taken the log."""


class RedisWriter:
    """Fills the port's `LogWriter`.

    Beside what the port names, `append`, `settle` and `room` raise, while the bus does not take
    what was appended for longer than `patience`, `BusUnavailable` or, if its memory is full,
    `Overloaded`; nothing is lost meanwhile, and the writer goes on by itself.

    Args:
        key: The stream.
        direction: Which of its logs.
        fence: Of this writer.
        name: Nobody else's.
        gauge: How full the log is.
        outbox: Sends for all writers.
        report: Tells the owner.
    """

    def __init__(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int,
        name: str,
        gauge: Gauge,
        outbox: Outbox,
        report: Report,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._key = key
        self._keys = keys = outbox.keys.stream(key)
        self._record = keys.record
        self._tenure = Tenure(key, direction, fence=fence, writer=name, keys=keys)
        self._report = report
        self._seen_at = self._loop.time()
        self._judging = False
        self._gauge = gauge
        self._outbox = outbox
        self._watcher = ""
        self._stored = 0
        self._buffer: list[bytes] = []
        self._asked = False
        self._in_doubt: tuple[int, int] | None = None
        self._doubts = 0
        self._looked_at = 0
        self._look_due = False
        self._refusal: LegatoError | None = None
        self._trouble: LegatoError | None = None
        self._stuck_since: float | None = None

    def open(self, watcher: str) -> None:
        """Begin, or begin again; `watcher` is whom others tell of changes to the log."""
        self._watcher = watcher
        self._tenure.token = ""
        self._outbox.schedule(self)

    def end(self, reason: LegatoError) -> None:
        """Write no more, for ever, and tell."""
        if self._refusal is None:
            self._refusal = reason
            self._drop(len(self._buffer))
            self._report.failed(reason)

    def append(self, items: Sequence[Item]) -> None:
        self._admit()
        if not items:
            raise ValueError("an entry holds at least one item")
        gauge = self._gauge
        size_bytes = gauge.stored - gauge.trimmed + gauge.pending
        if 2 * size_bytes >= self._outbox.config.log_bytes:
            self._watch_level(size_bytes)
        data = encode_entry(items)
        self._buffer.append(data)
        gauge.pending += len(data) + ENTRY_BYTES
        if not self._asked:
            self._outbox.schedule(self)

    @property
    def stored(self) -> int:
        return self._stored

    async def settle(self) -> None:
        self._admit()
        while self._buffer or not self._tenure.incarnation:
            await self._gauge.change()
            self._admit()

    @property
    def has_room(self) -> bool:
        is_known = bool(self._tenure.incarnation)
        return is_known and self._gauge.size_bytes < self._outbox.config.log_bytes

    async def room(self) -> None:
        look_at, pause = 0.0, RETRY
        self._admit()
        while not self.has_room:
            now = self._loop.time()
            if now >= look_at:
                self._look(WAIT((self._record,), self._tenure.place("q")[1]))
                look_at = now + pause
                pause = min(2 * pause, LONGEST_LOOK)
            await self._gauge.change(look_at - now)
            self._admit()

    # ── what the outbox and the inbox call ──

    def send(self) -> int:
        """Send what is buffered, in one call at a time; return the entries sent."""
        if self._asked or self._judging or self._refusal is not None:
            return 0
        if not self._tenure.token:
            self._ask(self._tenure.take(self._watcher), self._taken)
            return 0
        entries = self._batch()
        if entries:
            last = self._tenure.last + len(entries)
            self._ask(
                self._tenure.store(entries),
                lambda reply: self._answered(reply, entries, last),
                once=True,
            )
        return len(entries)

    def pushed(self, first: int, token: str, entries: Sequence[tuple[Item, ...]]) -> None:
        """Nothing: a writer is only told to look."""

    def look(self) -> None:
        """Ask whether the log is still there, whose it is, how full, and who reads it."""
        self._look()

    def look_if_silent(self, before: float) -> None:
        """Look, if somebody wants to know the end and the log was last seen before `before`."""
        if self._report.wants_end and self._seen_at < before:
            self._look()

    # ── replies ──

    def _taken(self, reply: Reply | LegatoError) -> None:
        if isinstance(reply, BusUnavailable | Overloaded):
            self._wait_out(reply)
            return
        before = self._tenure.readers
        try:
            if isinstance(reply, LegatoError):
                raise reply
            taken = self._tenure.taken(reply, self._stored)
        except Elsewhere as error:
            self._wait_out(error)
        except SessionExpired as error:
            self._judge(error)
        except LegatoError as error:
            self.end(error)
        else:
            self._gauge.stored, self._gauge.trimmed = self._tenure.stored, taken.trimmed
            self._outbox.pushes.looks(taken.told)
            self._meet(before)
            self._resolve_doubt(taken.mine)
            if self._look_due:
                self._look()
            self._go_on()

    def _resolve_doubt(self, mine: int) -> None:
        """Find out whether the last entries sent are in the log; else they are sent again."""
        if self._in_doubt is not None and mine >= self._in_doubt[1]:
            count, self._stored = self._in_doubt
            self._drop(count)
            # Who sent them may not have been able to tell.
            self._outbox.pushes.looks(self._tenure.readers, self._tenure.place("r"))
        self._in_doubt = None

    def _answered(self, reply: Reply | LegatoError, entries: Sequence[bytes], last: int) -> None:
        if not isinstance(reply, bytes):
            self._not_stored(reply, len(entries), last)
            return
        tenure = self._tenure
        self._gauge.pending -= tenure.advance(entries)
        del self._buffer[: len(entries)]
        self._stored = last
        self._gauge.stored = tenure.stored
        self._doubts = 0
        if tenure.readers:
            first, token = last - len(entries) + 1, tenure.token
            self._outbox.pushes.entries(tenure.readers, first, token, entries, tenure.place("r"))
        self._go_on()

    def _not_stored(self, reply: Reply | LegatoError, count: int, last: int) -> None:
        """Find out by taking the log what has become of entries, or wait for memory."""
        if isinstance(reply, Overloaded):
            self._wait_out(reply)
            return
        self._tenure.token = ""
        if reply is not None:
            self._in_doubt = (count, last)
        self._doubts += 1
        if isinstance(reply, BusUnavailable) and not isinstance(reply, Unknown):
            self._wait_out(reply)
        elif self._doubts > DOUBTS and isinstance(reply, Internal):
            self.end(reply)
        else:
            self._outbox.schedule(self)

    def _looked(self, outcome: Outcome) -> None:
        reply = outcome if isinstance(outcome, LegatoError) else outcome[-1]
        if isinstance(reply, LegatoError | ReplyError) or self._refusal is not None:
            return
        before = self._tenure.readers
        try:
            trimmed = self._tenure.looked(reply)
        except SessionExpired as error:
            self._judge(error)
        except LegatoError as error:
            self.end(error)
        else:
            self._seen_at = self._loop.time()
            if trimmed is not None:
                self._gauge.trimmed = trimmed
                self._meet(before)
            elif not self._asked:
                self._tenure.token = ""
        self._gauge.changed()

    def _judge(self, gone: SessionExpired) -> None:
        """Find out why the stream is gone, if it was ever there for this writer."""
        if not self._tenure.incarnation:
            self.end(gone)
        elif not self._judging:
            self._judging = True
            servers, seen_at = self._outbox.servers, self._seen_at
            find_out(servers, self._keys, self._key, seen_at=seen_at, told=self._judged)

    def _judged(self, reason: LegatoError) -> None:
        self._judging = False
        if isinstance(reason, BusUnavailable):
            self._tenure.token = ""
            self._wait_out(reason)
        else:
            self.end(reason)
        self._gauge.changed()

    # ── inside ──

    def _admit(self) -> None:
        """Raise what keeps this writer from writing."""
        if self._outbox.is_closed:
            raise BusUnavailable("the bus is closed")
        error = self._refusal or self._trouble
        if error is not None:
            raise type(error)(error.message)

    def _watch_level(self, size_bytes: int) -> None:
        """Raise if the log is too full, and see to it that one knows how full it is."""
        bound = self._outbox.config.log_bytes
        if size_bytes >= 2 * bound:
            raise Overloaded(
                f"{self._tenure.name} holds {size_bytes} bytes that its reader is not done with;"
                " wait for room"
            )
        written = self._gauge.stored + self._gauge.pending
        if written - self._looked_at >= bound / 8:
            self._looked_at = written
            self._look()

    def _batch(self) -> Sequence[bytes]:
        """Return the entries that the next command takes."""
        size_bytes = count = 0
        for data in self._buffer[:BATCH_ENTRIES]:
            size_bytes += len(data)
            if count and size_bytes > BATCH_BYTES:
                break
            count += 1
        return self._buffer[:count]

    def _ask(
        self, command: Command, take: Callable[[Reply | LegatoError], None], *, once: bool = False
    ) -> None:
        def done(outcome: Outcome) -> None:
            self._asked = False
            reply = outcome if isinstance(outcome, LegatoError) else outcome[0]
            take(translate(reply) if isinstance(reply, ReplyError) else reply)
            self._gauge.changed()
            self._report.stored(self._stored)

        self._asked = True
        self._outbox.servers.submit(Call(self._record, [command], done, once=once))

    def _look(self, *before: Command) -> None:
        """Ask for the state of the log, or, as long as nothing is known of it, once it is taken."""
        self._look_due = not self._tenure.incarnation
        if self._refusal is None and self._tenure.incarnation:
            commands = [*before, self._tenure.look()]
            self._outbox.servers.submit(Call(self._record, commands, self._looked))

    def _meet(self, before: str) -> None:
        """Let readers look that have come since: nobody has told them anything yet."""
        new = set(self._tenure.readers.split()) - set(before.split())
        self._outbox.pushes.looks(" ".join(sorted(new)), self._tenure.place("r"))

    def _go_on(self) -> None:
        self._seen_at = self._loop.time()
        self._stuck_since = self._trouble = None
        if self._buffer:
            self._outbox.schedule(self)

    def _drop(self, count: int) -> None:
        """Forget entries that are stored, or never will be."""
        self._gauge.pending -= size_of(self._buffer[:count])
        del self._buffer[:count]

    def _wait_out(self, error: LegatoError) -> None:
        """Try again later; callers are told once it has taken too long."""
        now = self._loop.time()
        if self._stuck_since is None:
            self._stuck_since = now
        waited = now - self._stuck_since
        if isinstance(error, BusUnavailable) or waited >= self._outbox.config.patience:
            self._trouble = error
        self._loop.call_later(RETRY, self._outbox.schedule, self)
