"""All that share a bus, as one picture: processes, leases, and what waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from legato.bus.base import Bus, JobState, Record
from legato.bus.records import PROCESS_KIND, TENANT, ProcessRecord, decode_process
from legato.telemetry.logs import logger

MAX_LEASES: Final = 1000
"""Leases that are named; all are counted."""

log = logger(__name__)


class Lease(msgspec.Struct, kw_only=True, frozen=True):
    """A stream that a worker holds.

    Attributes:
        tenant: Owner of the stream.
        stream_id: Of the stream.
        engine: Name of the engine that does it.
        worker: Name of the worker.
        age: Seconds that it has had it.
        deliveries: How often the stream was given to a worker that did not give it back.
    """

    tenant: str
    stream_id: str
    engine: str
    worker: str
    age: float
    deliveries: int


class Cluster(msgspec.Struct, kw_only=True, frozen=True):
    """What there is on a bus.

    Attributes:
        gateways: Sorted by name.
        workers: Sorted by name.
        leases: Oldest first; no more than `MAX_LEASES`.
        held: How many there are.
        waiting: Streams that no worker has taken yet, by engine.
        streams: Those that gateways have, open or waiting for their client.
    """

    gateways: tuple[ProcessRecord, ...]
    workers: tuple[ProcessRecord, ...]
    leases: tuple[Lease, ...]
    held: int
    waiting: dict[str, int]
    streams: int


async def read_cluster(bus: Bus) -> Cluster:
    """Look at all that share a bus.

    Raises:
        BusUnavailable: If it does not answer.
    """
    processes = sorted(
        _processes((await bus.registry.list(TENANT, PROCESS_KIND)).values()),
        key=lambda record: record.name,
    )
    leases = [_lease(state) for state in await bus.jobs.list() if state.holder is not None]
    leases.sort(key=lambda lease: -lease.age)
    gateways = tuple(record for record in processes if record.role == "gateway")
    return Cluster(
        gateways=gateways,
        workers=tuple(record for record in processes if record.role == "worker"),
        leases=tuple(leases[:MAX_LEASES]),
        held=len(leases),
        waiting=dict(sorted((await bus.jobs.depth()).items())),
        streams=sum(record.streams for record in gateways),
    )


def encode_cluster(cluster: Cluster) -> bytes:
    """Return it as JSON."""
    return msgspec.json.encode(cluster)


def decode_cluster(value: bytes) -> Cluster:
    """Read what `encode_cluster` wrote; unknown fields are ignored.

    Raises:
        msgspec.DecodeError: If `value` is something else.
    """
    return msgspec.json.decode(value, type=Cluster)


def _lease(state: JobState) -> Lease:
    return Lease(
        tenant=state.key.tenant,
        stream_id=state.key.stream_id,
        engine=state.engine,
        worker=state.holder or "",
        age=round(state.age, 3),
        deliveries=state.deliveries,
    )


def _processes(records: Iterable[Record]) -> Iterator[ProcessRecord]:
    for record in records:
        try:
            yield decode_process(record.value)
        except msgspec.ValidationError:
            log.warning("a process's record cannot be read")  # of another version
