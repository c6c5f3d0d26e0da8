"""One stream between a connection and the bus: up entries to the log, down entries from it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from legato.bus.base import (
    Bus,
    Committed,
    Direction,
    Entry,
    LogWriter,
    StreamKey,
    Subscription,
    UpItem,
)
from legato.errors import LegatoError
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Error, Notice, NumberedMessage
from legato.session.server_stream import ServerStream
from legato.telemetry.metrics import AUDIO_SECONDS

_UP = AUDIO_SECONDS.labels(direction=Direction.UP.value)
_DOWN = AUDIO_SECONDS.labels(direction=Direction.DOWN.value)

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
        listener: The connection.
        moved: Called when there may be something to trim.

    Attributes:
        listener: The connection, or None while suspended.
        fault: The worker's last word, if it came while suspended.
    """

    __slots__ = (
        "_acked_seq",
        "_appended",
        "_counted",
        "_down",
        "_down_places",
        "_keep_from",
        "_last_place",
        "_loop",
        "_moved",
        "_unneeded_seq",
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
        listener: Listener,
        moved: Callable[[Relay], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._moved = moved
        self._up_places: Places = deque()
        self._down_places: Places = deque()
        self._appended = 0
        self._acked_seq = -1
        self._unneeded_seq = -1
        self._last_place = 0
        self._keep_from = 0
        self._counted = (0, 0)
        self.key = key
        self.stream = stream
        self.listener: Listener | None = listener
        self.fault: Error | None = None
        self._writer: LogWriter = bus.logs.writer(key, Direction.UP)
        self._down: Subscription = bus.logs.follow(
            key, Direction.DOWN, self._deliver, closed=self._log_closed
        )

    def push(self, items: Sequence[UpItem], now: float) -> None:
        """Write up entries to the log.

        Raises:
            LegatoError: If the log does not take them.
        """
        self._writer.append(items)
        seq = items[-1].seq or 0
        self._appended += 1  # nobody else writes to this log
        self._up_places.append((self._appended, seq))
        self.stream.stored(seq, now)

    def acknowledged(self, seq: int) -> None:
        """Note that the listener holds everything of down up to `seq`."""
        self._acked_seq = max(self._acked_seq, seq)
        self._moved(self)

    def take_trims(self) -> dict[Direction, int]:
        """Return up to which entry each log can be trimmed, where that is news.

        Of down, the entries stay from which another worker would find out how far this one came:
        the last mark, and the numbered entry before it.
        """
        trims = {}
        up = _pass(self._up_places, self._unneeded_seq)
        if up:
            trims[Direction.UP] = up
        down = _pass(self._down_places, self._acked_seq, before=self._keep_from)
        if down:
            trims[Direction.DOWN] = down
        return trims

    def count_audio(self) -> None:
        """Add to the metrics what was carried since the last time."""
        stream = self.stream
        up, down = stream.received_upto, stream.out.samples.spent
        _UP.inc((up - self._counted[0]) / stream.format.sample_rate)
        _DOWN.inc((down - self._counted[1]) / stream.format.sample_rate)
        self._counted = (up, down)

    def close(self) -> None:
        """Stop reading."""
        self._down.close()

    def _deliver(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._take(entry)
        if self.listener is not None:
            self.listener.wake()

    def _take(self, entry: Entry) -> None:
        stream = self.stream
        last = -1
        marked = False
        for item in entry.items:
            if isinstance(item, AudioFrame):
                stream.relay_frame(item)
                last = item.seq
            elif isinstance(item, NumberedMessage):
                stream.relay((item,))
                last = item.seq or 0
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

    def _take_mark(self, mark: Committed) -> None:
        self.stream.committed(mark.seq, mark.upto, mark.chars, self._loop.time())
        self._unneeded_seq = max(self._unneeded_seq, mark.trim_seq)
        self._moved(self)

    def _take_word(self, item: Error | Notice) -> None:
        if isinstance(item, Error):
            self._fail(item)
        elif self.listener is not None:
            self.listener.pass_notice(self.stream, item)

    def _fail(self, message: Error) -> None:
        listener = self.listener
        if listener is None:
            self.fault = message
        else:
            listener.pass_error(self.stream, message)
            listener.wake()

    def _log_closed(self, error: LegatoError) -> None:
        self._fail(error_message(error, None))


def _pass(places: Places, seq: int, *, before: int | None = None) -> int:
    """Drop the places up to `seq`, numbered below `before`; return the last one's number, or 0."""
    number = 0
    while places and places[0][1] <= seq and (before is None or places[0][0] < before):
        number = places.popleft()[0]
    return number
