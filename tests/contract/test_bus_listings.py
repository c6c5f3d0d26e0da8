"""What can be found on a bus without its name being known."""

import pytest

from legato.bus.base import JobState
from tests.contract.buses import Rig, job, stream

TENANTS = ("acme", "acme2", "a/c*[m]e", "")


async def test_jobs_are_listed_in_the_order_of_their_submission(rig: Rig) -> None:
    for name, engine in (("a", "tone"), ("b", "hibari"), ("c", "tone"), ("d", "tone")):
        await rig.bus.jobs.submit(job(name, engine))
    claim = await rig.bus.jobs.claim(("tone",), "w1", lease=rig.long, wait=0)
    assert claim is not None
    listed = await rig.peer.jobs.list()
    assert [(one.key.stream_id, one.engine, one.holder, one.deliveries) for one in listed] == [
        ("a", "tone", "w1", 1),
        ("b", "hibari", None, 0),
        ("c", "tone", None, 0),
        ("d", "tone", None, 0),
    ]
    assert all(0 <= one.age < 600 for one in listed)


async def only(rig: Rig) -> JobState:
    (state,) = await rig.peer.jobs.list()
    return state


async def test_a_listed_job_is_held_by_who_has_it_now(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    first = await rig.bus.jobs.claim(("tone",), "w1", lease=rig.tick, wait=0)
    assert first is not None
    await rig.advance(2 * rig.tick)
    second = await rig.peer.jobs.claim(("tone",), "w2", lease=rig.long, wait=0)
    assert second is not None
    state = await only(rig)
    assert (state.holder, state.deliveries) == ("w2", 2)
    await rig.bus.jobs.release(second)
    state = await only(rig)
    assert (state.holder, state.deliveries) == (None, 1)


async def test_jobs_that_are_done_or_withdrawn_are_not_listed(rig: Rig) -> None:
    for name in ("a", "b"):
        await rig.bus.jobs.submit(job(name))
    claim = await rig.bus.jobs.claim(("tone",), "w1", lease=rig.long, wait=0)
    assert claim is not None
    await rig.bus.jobs.finish(claim)
    assert await rig.bus.jobs.withdraw(stream("b"))
    assert await rig.bus.jobs.list() == []


async def test_more_jobs_are_listed_than_one_page_holds(rig: Rig) -> None:
    names = [f"s{n}" for n in range(1_100)]
    for name in names:
        await rig.bus.jobs.submit(job(name))
    assert [one.key.stream_id for one in await rig.bus.jobs.list()] == names


async def test_withdrawing_tells_whether_there_was_a_job(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    assert await rig.peer.jobs.withdraw(stream())
    assert not await rig.bus.jobs.withdraw(stream())


@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_tenants_streams_are_found_and_nobody_elses(rig: Rig, tenant: str) -> None:
    for owner in TENANTS:
        for n in range(5):
            await rig.bus.logs.create(stream(f"s-{n}", tenant=owner), ttl=rig.long)
    await rig.bus.logs.delete(stream("s-3", tenant=tenant))
    wanted = {stream(f"s-{n}", tenant=tenant) for n in (0, 1, 2, 4)}
    assert await rig.peer.logs.list(tenant) == wanted


async def test_streams_that_ran_out_are_not_found(rig: Rig) -> None:
    await rig.bus.logs.create(stream("old"), ttl=rig.tick)
    await rig.bus.logs.create(stream("new"), ttl=rig.long)
    await rig.advance(2 * rig.tick)
    assert await rig.bus.logs.list("default") == {stream("new")}
    assert await rig.bus.logs.list("nobody") == set()


@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_tenants_kinds_of_records_are_found(rig: Rig, tenant: str) -> None:
    for owner in TENANTS:
        await rig.bus.registry.put(owner, "voice", "x", b"1")
        await rig.bus.registry.increment(owner, "quota/day", "x")
    await rig.bus.registry.put(tenant, "ticket", "x", b"1", ttl=rig.tick)
    assert await rig.peer.registry.kinds(tenant) == {"voice", "quota/day", "ticket"}
    await rig.advance(2 * rig.tick)
    assert await rig.peer.registry.kinds(tenant) == {"voice", "quota/day"}


@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_tenants_blobs_are_found(rig: Rig, tenant: str) -> None:
    for owner in TENANTS:
        for name in ("anna", "b/o*b"):
            await rig.bus.blobs.put(owner, name, b"1")
    await rig.bus.blobs.put(tenant, "eve", b"1", ttl=rig.tick)
    assert set(await rig.peer.blobs.list(tenant)) == {"anna", "b/o*b", "eve"}
    await rig.advance(2 * rig.tick)
    assert set(await rig.peer.blobs.list(tenant)) == {"anna", "b/o*b"}
