"""The port between gateways and workers: jobs, logs, registry and blobs.

The log of a stream's direction is the truth; everything else is a reading of it. Entries are
numbered by the log from 1; wire numbers (`seq`) are fields of the items inside. A writer is
buffered and never blocks its caller; what is stored is observable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from legato.bus.items import Committed as Committed
from legato.bus.items import DownItem as DownItem
from legato.bus.items import Item as Item
from legato.bus.items import Restart as Restart
from legato.bus.items import UpItem as UpItem
from legato.errors import LegatoError
from legato.protocol.messages import StreamStart


class Direction(StrEnum):
    """Which way a log flows."""

    UP = "up"
    DOWN = "down"


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
"""Takes the reason why no more entries come: `SessionExpired` if the log is gone, `ResumeGap` if
entries that were still to come have been trimmed (`missing` in entry numbers), `BusUnavailable` if
the bus went away, `Internal` if the follower's own `Deliver` raised. Called in the event loop."""


class LogWriter(Protocol):
    """Appends to one log, in order."""

    def append(self, items: Sequence[Item]) -> None:
        """Buffer one entry with `items`; returns at once.

        The items belong to the log from here on: do not change them.

        Raises:
            SessionReplaced: If a newer fence is known to hold the log (the write is refused).
            SessionExpired: If the log is known to be deleted or expired.
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
        """

    async def room(self) -> None:
        """Wait until the log holds less than its bound, so that readers set the pace.

        Raises:
            SessionReplaced: If a newer fence holds the log, also one that comes while waiting.
            SessionExpired: If the log is gone, also while waiting.
            BusUnavailable: If the bus is closed meanwhile.
        """


class Subscription(Protocol):
    """A reader's place in a log."""

    def close(self) -> None:
        """Stop; neither `deliver` nor `closed` is called after this returns. Idempotent."""


class Logs(Protocol):
    """Ordered, bounded, replayable logs: one per stream and direction."""

    async def create(self, key: StreamKey, *, ttl: float) -> None:
        """Make both logs of a stream, to live `ttl` seconds past the last touch.

        Raises:
            StreamExists: If they exist, or were deleted less than 300 s ago.
            Overloaded: If the bus has no room for another stream.
        """

    async def exists(self, key: StreamKey) -> bool:
        """Tell whether the logs are there."""

    def writer(self, key: StreamKey, direction: Direction, *, fence: int = 0) -> LogWriter:
        """Open a writer to an existing log.

        A higher fence shuts out every writer with a lower one on the same log, for ever; writers
        of one fence may share a log. The fence takes hold when the first `append` is stored or
        the first `settle` returns, if not before. A writer never writes to a later stream of the
        same key.

        Args:
            key: The stream.
            direction: Which of its logs.
            fence: The claim's for a worker, the attachment's for a gateway.
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

    async def trim(self, key: StreamKey, direction: Direction, *, upto: int) -> None:
        """Forget entries numbered up to `upto`, inclusive; makes room for writers.

        Numbering goes on where it was. Nothing happens if there is nothing to forget.
        """

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        """Let the stream live `ttl` seconds from now; False if it is gone."""

    async def delete(self, key: StreamKey) -> int:
        """Erase both logs at once, leave a tombstone for 300 s; return the entries erased.

        Where no stream is, nothing is erased and no tombstone is left.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work on one stream, waiting for a worker with a free slot.

    Attributes:
        key: The stream.
        engine: Name of the engine that must do it; `echo` for echo.
        start: The accepted parameters.
        seed: For engines that draw random numbers.
    """

    key: StreamKey
    engine: str
    start: StreamStart
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A worker's lease of a job.

    Attributes:
        job: The work.
        fence: Rises with every claim of the same stream; for `Logs.writer`.
        deliveries: How often the job was claimed, this time included.
        holder: The worker that holds it.
    """

    job: Job
    fence: int
    deliveries: int
    holder: str


class Jobs(Protocol):
    """Competing consumers with leases."""

    async def submit(self, job: Job) -> None:
        """Queue a job; a second one for the same stream is the same job.

        That holds while the job waits or runs and for 300 s after `finish`, not after `withdraw`.

        Raises:
            Overloaded: If the bus has no room for another job.
        """

    async def claim(
        self, engines: Collection[str], holder: str, *, lease: float, wait: float
    ) -> Claim | None:
        """Take the oldest waiting job for one of `engines`; one whose lease ran out waits again.

        A cancelled call takes nothing: what it was about to get waits again, in its old place.

        Args:
            engines: Names that the caller can serve.
            holder: The worker's name.
            lease: Seconds until the claim lapses unless renewed.
            wait: Seconds to wait for one; None is returned after that.

        Raises:
            BusUnavailable: If the bus is closed meanwhile.
        """

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        """Extend a lease to `lease` seconds from now.

        A lease that ran out is renewed as long as nobody else has claimed the job.

        Returns:
            False if the job was claimed by another, given back, done or withdrawn: stop working.
        """

    async def release(self, claim: Claim) -> None:
        """Give the job back for another worker at once, in its old place of the queue.

        Like `finish`, without effect if the claim is no longer the last one.
        """

    async def finish(self, claim: Claim) -> None:
        """The job is done; it is never delivered again."""

    async def withdraw(self, key: StreamKey) -> None:
        """Forget a stream's job, waiting or running."""

    async def depth(self) -> Mapping[str, int]:
        """Count the waiting jobs by engine; engines without any are left out."""


@dataclass(frozen=True, slots=True)
class Record:
    """A value of the registry and its version, for compare-and-set.

    Attributes:
        value: As put; decimal digits for a counter.
        version: Above 0; never the same again for a name, also not after a deletion.
    """

    value: bytes
    version: int


class Registry(Protocol):
    """Small records with time to live: voices, tickets, quotas, cluster state."""

    async def get(self, tenant: str, kind: str, name: str) -> Record | None:
        """Read a record."""

    async def put(
        self,
        tenant: str,
        kind: str,
        name: str,
        value: bytes,
        *,
        ttl: float | None = None,
        expected: int | None = None,
    ) -> bool:
        """Write a record.

        Args:
            tenant: Owner.
            kind: Family of records, such as "voice".
            name: Within the kind.
            value: Bytes.
            ttl: Seconds to live, or None for ever.
            expected: Version that must be there, 0 for none at all; None writes in any case.

        Returns:
            False if another version than `expected` is there.

        Raises:
            Overloaded: If the bus has no room for it.
        """

    async def delete(self, tenant: str, kind: str, name: str) -> bool:
        """Erase a record; False if there was none."""

    async def list(self, tenant: str, kind: str) -> Mapping[str, Record]:
        """Read all live records of a kind, by name."""

    async def increment(
        self, tenant: str, kind: str, name: str, *, by: int = 1, ttl: float | None = None
    ) -> int:
        """Add to a counter and return it.

        A counter that is not there is made at 0, to live `ttl` seconds, however often it is
        added to; the `ttl` of later calls is not looked at.

        Raises:
            ValueError: If the record there is not a counter.
            Overloaded: If the bus has no room for it.
        """


class Blobs(Protocol):
    """Larger values, such as voice prompts."""

    async def put(self, tenant: str, name: str, data: bytes, *, ttl: float | None = None) -> None:
        """Store bytes, over those of the same name, for `ttl` seconds or for ever.

        Raises:
            Overloaded: If the bus has no room for them.
        """

    async def get(self, tenant: str, name: str) -> bytes | None:
        """Read bytes."""

    async def delete(self, tenant: str, name: str) -> bool:
        """Erase bytes; False if there were none."""


class Bus(Protocol):
    """All four parts."""

    jobs: Jobs
    logs: Logs
    registry: Registry
    blobs: Blobs

    async def close(self) -> None:
        """Let go of connections and tasks; all that waits on the bus ends with `BusUnavailable`."""
