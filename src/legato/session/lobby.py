"""Streams that were asked for and wait for the shell's answer, and numbers of streams gone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from legato.errors import Overloaded, RateLimited, StreamExists
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamStart, Text
from legato.session.lane import Item
from legato.session.stream import Stream

REMEMBERED: Final = 1024
"""Numbers of ended or refused streams whose late frames are dropped silently."""

EARLY_ENTRIES: Final = 1024
"""Entries that may be pipelined behind one `stream_start`: 20 s of 20 ms frames."""

EARLY_BYTES: Final = 4 << 20
"""Bytes that may be pipelined behind all of them: 2 s of 64 streams of 16 kHz."""

Early = list[tuple[int | None, Item]]
"""Entries with their numbers; raw framing has none."""


class Lobby:
    """Holds what is pipelined behind a `stream_start` until the stream is accepted or refused.

    Args:
        max_streams: Streams of one connection, open and waiting ones.
    """

    __slots__ = ("_early", "_gone", "_max_streams", "_room_bytes", "_starts")

    def __init__(self, max_streams: int) -> None:
        self._max_streams = max_streams
        self._starts: dict[int, StreamStart] = {}
        self._early: dict[int, Early] = {}
        self._gone: dict[int, None] = {}
        self._room_bytes = EARLY_BYTES

    def __len__(self) -> int:
        return len(self._starts)

    def asked(self, number: int) -> StreamStart | None:
        """Return the start that waits under `number`, if one does."""
        return self._starts.get(number)

    def knows(self, number: int) -> bool:
        """Whether a stream of this number waits, or is gone."""
        return number in self._starts or number in self._gone

    def check(self, start: StreamStart, running: Collection[Stream]) -> None:
        """Check that a connection with streams `running` may have another one.

        Raises:
            StreamExists: If one of the same id runs or waits.
            Overloaded: If there are too many.
        """
        name = start.stream_id
        others = [*self._starts.values(), *(stream.start for stream in running)]
        if any(other.stream_id == name for other in others):
            raise StreamExists(f"stream_id {name} is in use on this connection")
        if len(others) >= self._max_streams:
            raise Overloaded(
                f"{len(others)} streams are open on this connection; end one first",
                retry_after=1.0,
            )

    def ask(self, start: StreamStart) -> None:
        """Let a start wait."""
        self.recall(start.stream)
        self._starts[start.stream] = start
        self._early[start.stream] = []

    def hold(self, number: int, seq: int | None, item: Item) -> bool:
        """Keep an early entry; False if its stream was never asked for.

        Entries of streams gone are dropped silently.

        Raises:
            RateLimited: If more is pipelined than may be.
        """
        number = self.resolve(number)
        early = self._early.get(number)
        if early is None:
            return number in self._gone
        size_bytes = _size_bytes(item)
        if len(early) >= EARLY_ENTRIES or size_bytes > self._room_bytes:
            raise RateLimited("wait for stream_started before sending more")
        self._room_bytes -= size_bytes
        early.append((seq, item))
        return True

    def resolve(self, number: int) -> int:
        """Return the number that is meant: 0 means the only one that waits."""
        if number == 0 and len(self._starts) == 1:
            return next(iter(self._starts))
        return number

    def admit(self, number: int) -> tuple[StreamStart, Early] | None:
        """Take a start and what came behind it; None if it waits no more."""
        start = self._starts.pop(number, None)
        return None if start is None else (start, self._take_early(number))

    def forget(self, number: int) -> None:
        """Drop a start, or note that a stream is gone; its late frames are no fault."""
        self._starts.pop(number, None)
        self._take_early(number)
        self._gone[number] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def recall(self, number: int) -> None:
        """The number is in use again, and 0 may mean it."""
        self._gone.pop(number, None)
        self._gone.pop(0, None)

    def _take_early(self, number: int) -> Early:
        early = self._early.pop(number, [])
        self._room_bytes += sum(_size_bytes(item) for _, item in early)
        return early


def _size_bytes(item: Item) -> int:
    """Return about how much memory an entry takes."""
    if type(item) is AudioFrame:
        return len(item.payload)
    return 4 * len(item.text) if type(item) is Text else 0
