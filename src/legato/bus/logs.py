"""The part of the port that holds streams: logs, their writers and readers, and notes beside them.

Everything of a stream lives and dies together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

from legato.bus.items import Item
from legato.errors import LegatoError

NOTE_BYTES: Final = 4096
"""Most that a note holds."""

NOTES: Final = 16
"""Most notes of a stream, beside those that `Logs.trim` writes."""

NO_NOTES: Final[Mapping[str, bytes]] = MappingProxyType({})


class Direction(StrEnum):
    """Which way a log flows."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Record:
    """A value of the registry, or a note, and its version, for compare-and-set.

    Attributes:
        value: As put; decimal digits for a counter.
        version: Above 0; never the same again for a name, also not after a deletion.
    """

    value: bytes
    version: int


@dataclass(frozen=True, slots=True, order=True)
class StreamKey:
    """A stream, everywhere on the bus.

    Attributes:
        tenant: Who owns it.
        stream_id: Unique within the tenant.
    """

    tenant: str
    stream_id: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A numbered entry of a log.

    Attributes:
        number: From 1, without holes within one log.
        items: One or more, in order; writers coalesce as load grows.
    """

    number: int
    items: tuple[Item, ...]


Deliver = Callable[[Sequence[Entry]], None]
"""Takes entries in order, without holes; called in the event loop, must not block."""

Closed = Callable[[LegatoError], None]
"""Takes the reason why no more entries come: `SessionExpired` if the log is gone, `EpochChanged` if
the bus has lost it or entries that had been delivered, `ResumeGap` if
entries that were still to come have been trimmed (`missing` in entry numbers), `BusUnavailable` if
the bus went away, `Internal` if the follower's own `Deliver` raised. Called in the event loop."""


Stored = Callable[[int], None]
"""Takes the number of the last of a writer's entries that is known to be stored, whenever that has
risen: once for all that became known together, never for each entry. Called in the event loop,
never within `append`; must not block."""

Failed = Callable[[LegatoError], None]
"""Takes the reason why a writer can write no more, once, in the event loop, also if nothing is
appended: `SessionReplaced`, `SessionExpired`, `EpochChanged` if the bus has lost the log, or
`BusUnavailable` if the bus was closed. What lets writers wait, but not end, is not told."""


class LogWriter(Protocol):
    """Appends to one log, in order."""

    def append(self, items: Sequence[Item]) -> None:
        """Buffer one entry with `items`; returns at once.

        The items belong to the log from here on: do not change them.

        Raises:
            SessionReplaced: If a newer fence is known to hold the log (the write is refused).
            SessionExpired: If the log is known to be deleted or expired.
            EpochChanged: If the bus is known to have lost the log, or entries that were stored.
            Overloaded: If the log holds twice its bound, as its writer did not wait for `room`.
            ValueError: If there are no items.
        """

    @property
    def stored(self) -> int:
        """Number of the last of this writer's entries that is known to be in the log, or 0."""

    async def settle(self) -> None:
        """Wait until all that was appended is stored and, from the first time on, the fence holds.

        Who takes a log over settles its fresh writer before it reads where the last one stopped.

        Raises:
            BusUnavailable: If that cannot be known in time.
            SessionReplaced: If a newer fence holds the log.
            SessionExpired: If the log is gone.
            EpochChanged: If the bus has lost it, or entries that were stored.
        """

    @property
    def has_room(self) -> bool:
        """Whether `room`, as far as is known here, would return at once."""

    async def room(self) -> None:
        """Wait until the log holds less than its bound, so that readers set the pace.

        Raises:
            SessionReplaced: If a newer fence holds the log, also one that comes while waiting.
            SessionExpired: If the log is gone, also while waiting.
            EpochChanged: If the bus has lost it, also while waiting.
            BusUnavailable: If the bus is closed meanwhile.
        """


class Subscription(Protocol):
    """A reader's place in a log."""

    def close(self) -> None:
        """Stop; neither `deliver` nor `closed` is called after this returns. Idempotent."""


class Logs(Protocol):
    """Ordered, bounded, replayable logs: one per stream and direction, and notes beside them."""

    async def create(
        self, key: StreamKey, *, ttl: float, notes: Mapping[str, bytes] = NO_NOTES
    ) -> None:
        """Make both logs of a stream, to live `ttl` seconds past the last touch.

        Args:
            key: The stream.
            ttl: Seconds to live.
            notes: Written with it in one step.

        Raises:
            ValueError: If there are more than `NOTES` notes, or one is larger than `NOTE_BYTES`.
            StreamExists: If they exist, or were deleted less than 300 s ago.
            Overloaded: If the bus has no room for another stream.
        """

    async def exists(self, key: StreamKey) -> bool:
        """Tell whether the logs are there."""

    async def list(self, tenant: str) -> Set[StreamKey]:
        """Find a tenant's streams; looks at every key, so not for each call."""

    def writer(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int = 0,
        stored: Stored | None = None,
        failed: Failed | None = None,
    ) -> LogWriter:
        """Open a writer to an existing log.

        A higher fence shuts out every writer with a lower one on the same log, for ever; writers
        of one fence may share a log. The fence takes hold when the first `append` is stored or
        the first `settle` returns, if not before. A writer never writes to a later stream of the
        same key.

        Args:
            key: The stream.
            direction: Which of its logs.
            fence: The claim's for a worker, the attachment's for a gateway.
            stored: Told how far what was appended is stored.
            failed: Told when the writer can write no more. Like `stored` it is not called for a
                writer that nobody holds any more.
        """

    def follow(
        self,
        key: StreamKey,
        direction: Direction,
        deliver: Deliver,
        *,
        after: int = 0,
        closed: Closed | None = None,
    ) -> Subscription:
        """Deliver every entry numbered above `after`, old and new, from the loop's next turn on.

        Entries appended in one turn of the loop come in one call (up to 256; a long backlog comes
        in several calls, so that other streams get their turn). What is deleted before its turn
        is not delivered. A `deliver` that raises ends its own subscription, no other.

        Args:
            key: The stream.
            direction: Which of its logs.
            deliver: Takes the entries.
            after: Number of the last entry that is not wanted.
            closed: Called once, as the last call, when the subscription ends other than by its
                own `close`; also for a stream that was never there.
        """

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        """Read entries numbered above `after`, at most `limit`.

        Raises:
            ResumeGap: If entries above `after` were trimmed; `missing` is [after + 1, first kept).
            SessionExpired: If the log is gone.
        """

    async def trim(
        self, key: StreamKey, direction: Direction, *, upto: int, note: bytes | None = None
    ) -> None:
        """Forget entries numbered up to `upto`, inclusive; makes room for writers.

        Numbering goes on where it was. Nothing happens if there is nothing to forget: a call that
        comes late changes neither the log nor the note.

        Args:
            key: The stream.
            direction: Which of its logs.
            upto: Number of the last entry to forget.
            note: Written in the same step, under the name `direction.value`; so that note always
                covers all that was trimmed with one.

        Raises:
            ValueError: If the note is larger than `NOTE_BYTES`.
        """

    async def notes(self, key: StreamKey) -> Mapping[str, Record]:
        """Read all notes of a stream, by name.

        They live and die with the stream.

        Raises:
            SessionExpired: If the stream is gone.
        """

    async def note(
        self, key: StreamKey, name: str, value: bytes, *, expected: int | None = None
    ) -> bool:
        """Write a note; also when the bus has no room for more streams.

        Args:
            key: The stream.
            name: Of the note.
            value: Bytes.
            expected: Version that must be there, 0 for none at all; None writes in any case.

        Returns:
            False if another version than `expected` is there.

        Raises:
            ValueError: If the note is larger than `NOTE_BYTES`, or one more than `NOTES`.
            SessionExpired: If the stream is gone.
        """

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        """Let the stream live `ttl` seconds from now; False if it is gone."""

    async def delete(self, key: StreamKey, *, tombstone: bool = True) -> int:
        """Erase both logs and the notes at once; return the entries erased.

        A tombstone is left for 300 s, but none where no stream is.
        """


def check_note(value: bytes) -> None:
    """See that a note is not too large.

    Raises:
        ValueError: If it is larger than `NOTE_BYTES`.
    """
    if len(value) > NOTE_BYTES:
        raise ValueError(f"a note of {len(value)} bytes is over the limit of {NOTE_BYTES}")


def check_notes(names: Collection[str]) -> None:
    """See that a stream may have notes of these names.

    Raises:
        ValueError: If those are more than `NOTES`, where the two of `Logs.trim` do not count.
    """
    count = len(set(names) - set(Direction))
    if count > NOTES:
        raise ValueError(f"a stream may have {NOTES} notes, not {count}")
