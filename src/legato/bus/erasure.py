"""Erasing all that a bus holds of a stream or a tenant, and saying what that was."""

from __future__ import annotations

import msgspec

from legato.bus.base import Bus, StreamKey
from legato.bus.forgetting import tell_forgotten
from legato.bus.records import SYSTEM_KINDS, TENANT
from legato.bus.voices import OwnVoices
from legato.errors import SessionExpired


class Receipt(msgspec.Struct, kw_only=True, frozen=True):
    """What was erased, in numbers: nothing of the content.

    Attributes:
        streams: Streams, with all their keys.
        entries: Entries of their logs.
        notes: Notes beside the logs.
        jobs: Jobs, waiting or held by a worker.
        records: Records of the registry.
        blobs: Larger values.
        voices: Voices of the tenant's own, each with its recording.
    """

    streams: int = 0
    entries: int = 0
    notes: int = 0
    jobs: int = 0
    records: int = 0
    blobs: int = 0
    voices: int = 0

    def __add__(self, other: Receipt) -> Receipt:
        """Return both in one."""
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return Receipt(**{kind: count + theirs[kind] for kind, count in mine.items()})


async def erase_stream(bus: Bus, key: StreamKey) -> Receipt:
    """Erase a stream, also a live one: its client is told `session_expired`.

    Workers drop what they keep of its tenant's speech.

    Raises:
        BusUnavailable: If the bus does not answer; some of it may be erased then. Ask again.
        Overloaded: If it has no room to tell workers.
    """
    receipt = await _erase(bus, key)
    await tell_forgotten(bus.registry, key.tenant)
    return receipt


async def _erase(bus: Bus, key: StreamKey) -> Receipt:
    jobs = await bus.jobs.withdraw(key)
    try:
        notes = len(await bus.logs.notes(key))
    except SessionExpired:
        return Receipt(jobs=int(jobs))
    entries = await bus.logs.delete(key)
    return Receipt(streams=1, entries=entries, notes=notes, jobs=int(jobs))


async def erase_tenant(bus: Bus, tenant: str) -> Receipt:
    """Erase all that a tenant has on the bus: streams, jobs, voices, records and blobs.

    What the system itself keeps under the default tenant stays.

    Raises:
        BusUnavailable: If the bus does not answer; some of it may be erased then. Ask again.
        Overloaded: If it has no room to tell workers.
    """
    receipt = Receipt()
    jobs = {state.key for state in await bus.jobs.list() if state.key.tenant == tenant}
    for key in sorted(jobs | set(await bus.logs.list(tenant))):
        receipt += await _erase(bus, key)
    voices = OwnVoices(bus)
    for voice in await voices.list(tenant):
        receipt += Receipt(voices=int(await voices.remove(tenant, voice.name)))
    kinds = await bus.registry.kinds(tenant)
    for kind in sorted(kinds - SYSTEM_KINDS if tenant == TENANT else kinds):
        for name in await bus.registry.list(tenant, kind):
            erased = await bus.registry.delete(tenant, kind, name)
            receipt += Receipt(records=int(erased))
    for name in sorted(await bus.blobs.list(tenant)):
        receipt += Receipt(blobs=int(await bus.blobs.delete(tenant, name)))
    await tell_forgotten(bus.registry, tenant)
    return receipt
