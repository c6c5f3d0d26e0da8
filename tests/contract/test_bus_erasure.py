"""Erasing and cleaning up, on every bus."""

import pytest

from legato.bus.base import Direction
from legato.bus.erasure import Receipt, erase_stream, erase_tenant
from legato.bus.forgetting import owner_of
from legato.bus.janitor import Janitor
from legato.bus.records import FORGOTTEN_KIND, JANITOR_KIND, PROCESS_KIND, TENANT
from legato.errors import EpochChanged, SessionExpired, StreamExists
from tests.contract.buses import Reader, Rig, filled, frame, job, settled, stream

NOTHING = Receipt()


async def furnish(rig: Rig, name: str = "s1", *, tenant: str = "acme") -> None:
    """Make a stream with five entries, two notes and a job."""
    key = stream(name, tenant=tenant)
    await rig.bus.logs.create(key, ttl=rig.long, notes={"stream": b"x"})
    await settled(rig.bus.logs.writer(key, Direction.UP), *(frame(n) for n in range(3)))
    await settled(rig.bus.logs.writer(key, Direction.DOWN), *(frame(n) for n in range(2)))
    await rig.bus.logs.note(key, "up", b"y")
    await rig.bus.jobs.submit(job(name, tenant=tenant))


async def test_a_stream_is_erased_whole_and_the_receipt_counts_it(rig: Rig) -> None:
    await furnish(rig)
    await furnish(rig, "s2")
    receipt = await erase_stream(rig.peer, stream(tenant="acme"))
    assert receipt == Receipt(streams=1, entries=5, notes=2, jobs=1)
    assert await rig.bus.logs.list("acme") == {stream("s2", tenant="acme")}
    assert [one.key for one in await rig.bus.jobs.list()] == [stream("s2", tenant="acme")]
    assert await erase_stream(rig.peer, stream(tenant="acme")) == NOTHING


async def test_who_reads_an_erased_stream_is_told_that_it_expired(rig: Rig) -> None:
    await furnish(rig)
    key = stream(tenant="acme")
    reader = Reader().follow(rig.bus, key, Direction.DOWN)
    await reader.has(2)
    await erase_stream(rig.peer, key)
    assert isinstance(await reader.end(), SessionExpired)


async def test_a_job_without_its_stream_is_erased_too(rig: Rig) -> None:
    await rig.bus.jobs.submit(job(tenant="acme"))
    assert await erase_stream(rig.bus, stream(tenant="acme")) == Receipt(jobs=1)


async def test_a_tenant_is_erased_whole_and_nobody_else(rig: Rig) -> None:
    for tenant in ("acme", "other"):
        await furnish(rig, tenant=tenant)
        await rig.bus.registry.put(tenant, "voice", "anna", b"1")
        await rig.bus.registry.put(tenant, "voice", "bob", b"1")
        await rig.bus.blobs.put(tenant, "anna", b"1")
    await rig.bus.jobs.submit(job("lonely", tenant="acme"))
    receipt = await erase_tenant(rig.peer, "acme")
    assert receipt == Receipt(streams=1, entries=5, notes=2, jobs=2, records=2, blobs=1)
    assert await rig.bus.registry.kinds("acme") == set()
    assert await erase_tenant(rig.peer, "acme") == NOTHING
    receipt = await erase_tenant(rig.peer, "other")
    assert receipt == Receipt(streams=1, entries=5, notes=2, jobs=1, records=2, blobs=1)


async def test_what_the_system_keeps_survives_its_tenant(rig: Rig) -> None:
    await rig.bus.registry.put(TENANT, PROCESS_KIND, "w1", b"{}")
    await rig.bus.registry.put(TENANT, "voice", "anna", b"1")
    assert await erase_tenant(rig.bus, TENANT) == Receipt(records=1)
    assert await rig.bus.registry.kinds(TENANT) == {PROCESS_KIND, FORGOTTEN_KIND}


async def test_workers_are_told_whose_speech_to_drop_each_time(rig: Rig) -> None:
    versions = []
    for tenant in ("acme", "acme", "other"):
        await erase_stream(rig.peer, stream("long gone", tenant=tenant))
        records = await rig.bus.registry.list(TENANT, FORGOTTEN_KIND)
        versions.append(records[owner_of(tenant)].version)
    await erase_tenant(rig.peer, "acme")
    records = await rig.bus.registry.list(TENANT, FORGOTTEN_KIND)
    assert versions[0] != versions[1] != records[owner_of("acme")].version
    assert set(records) == {owner_of("acme"), owner_of("other")}


async def test_an_erased_id_cannot_be_used_again_at_once(rig: Rig) -> None:
    await furnish(rig)
    await erase_stream(rig.bus, stream(tenant="acme"))
    try:
        await rig.bus.logs.create(stream(tenant="acme"), ttl=rig.long)
    except StreamExists:
        return
    raise AssertionError("a late write could bring it back")


async def test_the_janitor_erases_jobs_whose_stream_is_gone_and_no_others(rig: Rig) -> None:
    await filled(rig, stream("live"), 1)
    await rig.bus.logs.create(stream("old"), ttl=rig.tick)
    for name, engine in (("live", "tone"), ("old", "tone"), ("held", "hibari")):
        await rig.bus.jobs.submit(job(name, engine))
    claim = await rig.bus.jobs.claim(("hibari",), "dead", lease=rig.long, wait=0)
    assert claim is not None
    await rig.advance(2 * rig.tick)
    assert await Janitor(rig.peer, "j1", every=rig.tick).sweep() == 2
    assert [one.key for one in await rig.bus.jobs.list()] == [stream("live")]


async def test_one_janitor_works_at_a_time_and_a_dead_one_is_replaced(rig: Rig) -> None:
    first = Janitor(rig.bus, "j1", every=rig.tick)
    second = Janitor(rig.peer, "j2", every=rig.tick)
    assert await first.sweep() == 0
    await rig.bus.jobs.submit(job())
    assert await second.sweep() == 0
    assert await first.sweep() == 1
    await rig.bus.jobs.submit(job())
    await rig.advance(2 * rig.tick)
    assert await second.sweep() == 1
    record = await rig.bus.registry.get(TENANT, JANITOR_KIND, "turn")
    assert record is not None
    assert record.value == b"j2"


async def test_what_is_deleted_without_a_tombstone_may_begin_again_at_once(rig: Rig) -> None:
    await furnish(rig)
    key = stream(tenant="acme")
    reader = Reader().follow(rig.bus, key, Direction.DOWN)
    await reader.has(2)
    assert await rig.peer.logs.delete(key, tombstone=False) == 5
    assert isinstance(await reader.end(), SessionExpired | EpochChanged)
    await rig.bus.logs.create(key, ttl=rig.long, notes={"stream": b"z"})
    assert await rig.peer.logs.read(key, Direction.DOWN) == []
    notes = await rig.peer.logs.notes(key)
    assert {name: record.value for name, record in notes.items()} == {"stream": b"z"}


async def test_what_a_tombstone_stands_for_cannot_begin_again(rig: Rig) -> None:
    await furnish(rig)
    key = stream(tenant="acme")
    assert await rig.bus.logs.delete(key) == 5
    assert await rig.bus.logs.delete(key, tombstone=False) == 0
    with pytest.raises(StreamExists):
        await rig.bus.logs.create(key, ttl=rig.long)
