"""One stream between a connection and the bus: up entries to the log, down entries from it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from legato.bus.base import (
    Bus,
    Committed,
    Direction,
    Entry,
    Item,
    LogWriter,
    Record,
    StreamKey,
    Subscription,
)
from legato.bus.kept import read_kept
from legato.errors import BusUnavailable, EpochChanged, LegatoError, SessionReplaced
from legato.flow.places import DownPlace, Struck
from legato.gateway.bugs import note_bug
from legato.gateway.meter import Meter
from legato.gateway.notes import DownNote, UpNote, all_struck, down_note, encode, up_note
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Error, Notice, NumberedMessage, UtteranceEnd
from legato.session.lane import INF
from legato.session.server_stream import ServerStream

MAX_STRUCK: Final = 64
"""Cancels in a note, above which nothing is trimmed: a note is small."""

UNKNOWN: Final = -1
"""Number of the next entry of down, or of its next sample, before the first has come."""

HEAVY_ENTRIES: Final = 1024
"""Entries in both logs above which they are trimmed soon."""

Places = deque[tuple[int, int]]
"""Entries of a log by number, and the last `seq` in each."""


class Listener(Protocol):
    """The connection that a stream is attached to."""

    def wake(self) -> None:
        """There is something to send."""

    def pass_error(self, stream: ServerStream, message: Error) -> None:
        """The stream's last word."""

    def pass_notice(self, stream: ServerStream, message: Notice) -> None:
        """News of the stream."""

    def replaced(self, relay: Relay) -> None:
        """Another connection has taken the stream over."""


class Relay:
    """Carries one stream; lives on while the stream waits for its client to come back.

    Args:
        bus: Where the logs are.
        key: The stream on the bus.
        stream: The stream on the connection.
        attachment: Fence of what is written to up.
        moved: Called when there may be something to trim.
        owing: Called when an ack is due that may wait for a moment, to be reminded of it.
        taken: Called when another gateway has taken the stream.

    Attributes:
        listener: The connection, or None while suspended.
        fault: The stream's last word, once it has come.
    """

    __slots__ = (
        "_appended",
        "_bus",
        "_cancels",
        "_down",
        "_down_entry",
        "_down_place",
        "_down_places",
        "_is_known",
        "_keep_from",
        "_last_place",
        "_loop",
        "_meter",
        "_moved",
        "_next_sample",
        "_next_seq",
        "_owing",
        "_struck",
        "_taken",
        "_unneeded_seq",
        "_unstored",
        "_up_places",
        "_writer",
        "fault",
        "key",
        "listener",
        "stream",
    )

    def __init__(
        self,
        bus: Bus,
        key: StreamKey,
        stream: ServerStream,
        *,
        attachment: int = 0,
        moved: Callable[[Relay], None],
        owing: Callable[[Relay], None],
        taken: Callable[[Relay], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._bus = bus
        self._moved = moved
        self._owing = owing
        self._taken = taken
        self._up_places: Places = deque()
        self._down_places: Places = deque()
        self._unstored: Places = deque()
        self._appended = self._cancels = 0
        self._is_known = False
        self._struck: tuple[Struck, ...] = ()
        self._unneeded_seq = -1
        self._down_place = DownPlace()
        self._down_entry = self._last_place = self._keep_from = 0
        self._next_seq = self._next_sample = UNKNOWN
        self._meter = Meter(stream.format)
        self.key = key
        self.stream = stream
        self.listener: Listener | None = None
        self.fault: Error | None = None
        self._writer: LogWriter = bus.logs.writer(
            key,
            Direction.UP,
            fence=attachment,
            stored=self._stored if bus.is_shared else None,
            failed=self._writer_failed,
        )
        self._down: Subscription | None = None

    def follow(self) -> None:
        """Read down, from where it was read last."""
        self._down = self._bus.logs.follow(
            self.key, Direction.DOWN, self._deliver, after=self._down_entry, closed=self.fail_with
        )

    async def revive(self, received_seq: int) -> None:
        """Make the stream what another gateway knew of it, and read down.

        Args:
            received_seq: Last entry of down that the client holds.

        Raises:
            ResumeGap: If the logs do not hold what the client lacks.
            SessionReplaced: If yet another gateway has taken the stream.
            LegatoError: If the bus fails.
        """
        logs = self._bus.logs
        await self._writer.settle()  # from here on nobody else writes up
        up = await read_kept(logs, self.key, Direction.UP)
        while True:
            down = await read_kept(logs, self.key, Direction.DOWN)
            notes = await logs.notes(self.key)
            went = down_note(notes)
            # Who had the stream may have gone on meanwhile.
            if went.read <= max(down[-1].number if down else 0, went.entry):
                break
        self._restore(up, down, notes, received_seq)
        self.follow()

    def _restore(
        self,
        up: Sequence[Entry],
        down: Sequence[Entry],
        notes: Mapping[str, Record],
        received_seq: int,
    ) -> None:
        now = self._loop.time()
        came, went = up_note(notes), down_note(notes)
        for entry in down:
            self._take(entry)
        self._down_entry = max(went.entry, self._down_entry)
        items = [item for entry in up for item in entry.items]
        logged = tuple(item for item in items if isinstance(item, Struck))
        behind = [
            item
            for item in items
            if isinstance(item, AudioFrame | NumberedMessage) and (item.seq or 0) > came.place.seq
        ]
        self.stream.restore_up(came.place, behind, now)
        self._appended = up[-1].number if up else came.entry
        self._up_places.extend((entry.number, _last_seq(entry)) for entry in up)
        struck = all_struck(came, went, logged)
        self.stream.restore_down(went.place, struck, received_seq=received_seq, now=now)
        self._down_place = went.place
        self._cancels, self._struck = self.stream.cancels, struck
        # What came before was counted where it came.
        self._meter.skip(self.stream.received_upto, self.stream.out.samples.spent)

    def push(self, items: Sequence[AudioFrame | NumberedMessage]) -> None:
        """Write up entries to the log.

        Raises:
            LegatoError: If the log does not take them.
        """
        stream = self.stream
        seq = items[-1].seq or 0
        entry: Sequence[Item] = items  # type: ignore[assignment]  # all of them are items of up
        fresh = stream.cancels - self._cancels
        if fresh:
            self._cancels = stream.cancels
            struck = list(stream.struck)[-fresh:]
            self._struck += (*struck,)
            entry = [*struck, *entry]
        self._writer.append(entry)
        self._appended += 1  # nobody else writes to this log
        self._up_places.append((self._appended, seq))
        self._unstored.append((self._appended, seq))
        if not self._bus.is_shared:  # what is appended is stored
            self._note_stored(self._appended)

    def take_trims(self) -> dict[Direction, tuple[int, bytes]]:
        """Return up to which entry each log can be trimmed, where that is news, and the notes.

        Of down, the entries stay from which another worker would find out how far this one came:
        the last mark, and the numbered entry before it.
        """
        trims = {}
        stream = self.stream
        place = self._down_place = stream.take_down_place() or self._down_place
        # Up is trimmed first, and tells what was struck behind the place that is stored by then.
        if len(self._struck) <= MAX_STRUCK:
            up = _pass(self._up_places, min(self._unneeded_seq, stream.up_place.seq))
            if up:
                note = UpNote(entry=up, place=stream.up_place, struck=self._struck)
                trims[Direction.UP] = up, encode(note)
        struck = tuple(one for one in self._struck if one.utterance > place.ended)
        if len(struck) <= MAX_STRUCK:
            down = _pass(self._down_places, place.seq, before=self._keep_from)
            if down:
                self._struck = struck
                went = DownNote(entry=down, read=self._down_entry, place=place, struck=struck)
                trims[Direction.DOWN] = down, encode(went)
        return trims

    def acknowledged(self) -> bool:
        """Note that the listener holds more of down; tell whether that is the first time."""
        self._moved(self)
        known, self._is_known = self._is_known, True
        return not known

    @property
    def is_begun(self) -> bool:
        """Whether something of the stream has been made, or it has failed."""
        return self._last_place > 0 or self.fault is not None

    @property
    def is_heavy(self) -> bool:
        """Whether the logs may hold much that came since `count_audio`, so that a trim is due."""
        stream = self.stream
        if self._meter.is_heavy(stream.received_upto, stream.out.samples.spent):
            return True
        return len(self._up_places) + len(self._down_places) > HEAVY_ENTRIES

    def count_audio(self) -> None:
        """Add to the metrics what was carried since the last time."""
        self._meter.count(self.stream.received_upto, self.stream.out.samples.spent)

    def close(self) -> None:
        """Stop reading."""
        if self._down is not None:
            self._down.close()

    def _deliver(self, entries: Sequence[Entry]) -> None:
        try:
            for entry in entries:
                self._take(entry)
        except EpochChanged as error:
            self.close()
            self.fail_with(error)
        if self.listener is not None:
            self.listener.wake()

    def _stored(self, number: int) -> None:
        stream = self.stream
        due, held = stream.ack_at, stream.is_held
        urgent = self._note_stored(number)
        if self.listener is None:
            return
        if urgent or held:
            self.listener.wake()
        elif stream.ack_at < due:
            self._owing(self)

    def remind(self, now: float) -> None:
        """Send the ack that is due, unless that is done."""
        if self.listener is not None and self.stream.ack_at < INF:
            self.listener.wake()

    def _note_stored(self, number: int) -> bool:
        unstored = self._unstored
        seq = -1
        while unstored and unstored[0][0] <= number:
            seq = unstored.popleft()[1]
        return self.stream.stored(seq, self._loop.time())

    def _take(self, entry: Entry) -> None:
        self._down_entry = entry.number
        stream = self.stream
        last, marked = -1, False
        for item in entry.items:
            if isinstance(item, AudioFrame):
                if item.seq != self._next_seq or item.sample != self._next_sample:
                    self._check_place(item.seq, item.sample)
                stream.relay_frame(item)
                last, self._next_seq = item.seq, item.seq + 1
                self._next_sample = item.sample + stream.samples_in(item.payload)
            elif isinstance(item, NumberedMessage):
                last = self._take_message(item)
            elif isinstance(item, Committed):
                marked = True
                self._take_mark(item)
            else:
                self._take_word(item)
        if last >= 0:
            self._last_place = entry.number
            self._down_places.append((entry.number, last))
        if marked:
            self._keep_from = self._last_place or entry.number

    def _take_message(self, message: NumberedMessage) -> int:
        seq = message.seq or 0
        if seq != self._next_seq:
            self._check_place(seq, self._next_sample)
        self.stream.relay((message,))
        self._next_seq = seq + 1
        if isinstance(message, UtteranceEnd) and self.stream.packet_samples:
            self._next_sample = message.sample  # the last packet may go beyond it
        return seq

    def _check_place(self, seq: int, sample: int) -> None:
        """See that what comes follows from what came: a log that lost its tail was written anew.

        Raises:
            EpochChanged: If it does not.
        """
        if self._next_seq not in (UNKNOWN, seq) or self._next_sample not in (UNKNOWN, sample):
            raise EpochChanged("the bus has lost entries that had been read")

    def _take_mark(self, mark: Committed) -> None:
        self.stream.committed(mark.seq, mark.upto, mark.chars, self._loop.time())
        self._unneeded_seq = max(self._unneeded_seq, mark.trim_seq)
        self._moved(self)

    def _take_word(self, item: Item) -> None:
        if isinstance(item, Error):
            self._fail(item)
        elif isinstance(item, Notice) and self.listener is not None:
            self.listener.pass_notice(self.stream, item)

    def _fail(self, message: Error) -> None:
        listener = self.listener
        if self.fault is not None:
            return
        self.fault = message
        if listener is not None:
            listener.pass_error(self.stream, message)
            listener.wake()

    def _writer_failed(self, error: LegatoError) -> None:
        if isinstance(error, SessionReplaced):
            self._taken(self)
        elif not isinstance(error, BusUnavailable):  # of which the reader tells
            self.fail_with(error)

    def fail_with(self, error: LegatoError) -> None:
        """End the stream with a fault."""
        note_bug(error)
        self._fail(error_message(error, None))


def _last_seq(entry: Entry) -> int:
    """Return the number of the last item of an entry of up, which has one."""
    return getattr(entry.items[-1], "seq", None) or 0


def _pass(places: Places, seq: int, *, before: int | None = None) -> int:
    """Drop the places up to `seq`, numbered below `before`; return the last one's number, or 0."""
    number = 0
    while places and places[0][1] <= seq and (before is None or places[0][0] < before):
        number = places.popleft()[0]
    return number
