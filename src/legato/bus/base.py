"""The port between gateways and workers: jobs, logs, registry and blobs.

The log of a stream's direction is the truth; everything else is a reading of it. Entries are
numbered by the log from 1; wire numbers (`seq`) are fields of the items inside. A writer is
buffered and never blocks its caller; what is stored is observable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from legato.bus.items import Committed as Committed
from legato.bus.items import DownItem as DownItem
from legato.bus.items import Item as Item
from legato.bus.items import Restart as Restart
from legato.bus.items import UpItem as UpItem
from legato.bus.logs import NO_NOTES as NO_NOTES
from legato.bus.logs import NOTE_BYTES as NOTE_BYTES
from legato.bus.logs import NOTES as NOTES
from legato.bus.logs import Closed as Closed
from legato.bus.logs import Deliver as Deliver
from legato.bus.logs import Direction as Direction
from legato.bus.logs import Entry as Entry
from legato.bus.logs import Failed as Failed
from legato.bus.logs import Logs as Logs
from legato.bus.logs import LogWriter as LogWriter
from legato.bus.logs import Record as Record
from legato.bus.logs import Stored as Stored
from legato.bus.logs import StreamKey as StreamKey
from legato.bus.logs import Subscription as Subscription
from legato.protocol.messages import StreamStart


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
        deliveries: How often the job was claimed, this time included; claims that were given back
            do not count, those that lapsed do.
        holder: The worker that holds it.
    """

    job: Job
    fence: int
    deliveries: int
    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """How a job stands, for those who watch.

    Attributes:
        key: The stream.
        engine: Name of the engine that must do it.
        holder: The worker that has claimed it, or None while it waits.
        deliveries: As in `Claim`.
        age: Seconds since it was claimed; since it was submitted while it waits.
    """

    key: StreamKey
    engine: str
    holder: str | None
    deliveries: int
    age: float


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
        """Take the next waiting job for one of `engines`; one whose lease ran out waits again.

        Tenants take turns, so that the many jobs of one do not keep another's waiting; of one
        tenant's jobs the oldest comes first.

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

        The claim then does not count as a delivery: whoever gives back did not die of the job.

        Like `finish`, without effect if the claim is no longer the last one.
        """

    async def finish(self, claim: Claim) -> None:
        """The job is done; it is never delivered again."""

    async def withdraw(self, key: StreamKey) -> bool:
        """Forget a stream's job, waiting or running; False if there was none."""

    async def depth(self) -> Mapping[str, int]:
        """Count the waiting jobs by engine; engines without any are left out."""

    async def list(self) -> Sequence[JobState]:
        """Read all jobs that wait or are held, in the order of their submission.

        That is for people and for cleaning up: a job that moves meanwhile may be missed.
        """


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

    async def kinds(self, tenant: str) -> Set[str]:
        """Find the kinds of a tenant's records; looks at every key, so not for each call."""

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

    async def list(self, tenant: str) -> Set[str]:
        """Find the names of a tenant's blobs; looks at every key, so not for each call."""


class Bus(Protocol):
    """All four parts.

    Attributes:
        jobs: Work for workers.
        logs: What flows.
        registry: Small records.
        blobs: Larger values.
    """

    jobs: Jobs
    logs: Logs
    registry: Registry
    blobs: Blobs

    @property
    def is_shared(self) -> bool:
        """Whether other processes see what it holds, so that it outlives this one.

        Only then can a stream go on through another gateway after this process has ended.
        """

    async def close(self) -> None:
        """Let go of connections and tasks; all that waits on the bus ends with `BusUnavailable`."""
