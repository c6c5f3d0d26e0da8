import asyncio

import pytest

from legato.bus.base import Claim, Direction
from legato.errors import SessionReplaced
from tests.contract.buses import Rig, frame, job, refuse, settled, stream

TONE = ("tone",)


async def take(rig: Rig, *engines: str, holder: str = "w1") -> Claim | None:
    """Claim what is there, without waiting, for longer than the test takes."""
    return await rig.bus.jobs.claim(engines or TONE, holder, lease=rig.long, wait=0)


async def taken(rig: Rig, *engines: str, holder: str = "w1") -> Claim:
    """Claim what must be there."""
    claim = await take(rig, *engines, holder=holder)
    assert claim is not None
    return claim


async def lapse(rig: Rig, claim: Claim) -> None:
    """Let a lease run out."""
    assert await rig.bus.jobs.renew(claim, lease=rig.tick)
    await rig.advance(2 * rig.tick)


async def test_a_claim_holds_the_job_as_it_was_submitted(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await rig.peer.jobs.claim(TONE, "w1", lease=rig.long, wait=0)
    assert claim is not None
    assert (claim.job, claim.deliveries, claim.holder) == (job(), 1, "w1")


async def test_jobs_are_claimed_in_the_order_of_their_submission(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        await rig.bus.jobs.submit(job(name))
    assert [(await taken(rig)).job for _ in range(3)] == [job("a"), job("b"), job("c")]


async def test_the_oldest_job_of_several_engines_comes_first(rig: Rig) -> None:
    await rig.bus.jobs.submit(job("a", "echo"))
    await rig.bus.jobs.submit(job("b", "tone"))
    assert (await taken(rig, "tone", "echo")).job == job("a", "echo")


async def test_a_worker_gets_jobs_of_its_engines_only(rig: Rig) -> None:
    await rig.bus.jobs.submit(job("a", "hibari"))
    assert await take(rig, "tone", "echo") is None
    assert await rig.bus.jobs.claim((), "w1", lease=rig.long, wait=0) is None
    assert (await taken(rig, "hibari")).job.key == stream("a")


async def test_a_job_is_held_by_one_worker(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    await taken(rig)
    assert await take(rig, holder="w2") is None


async def test_waiting_for_a_job_ends_after_its_time(rig: Rig) -> None:
    assert await rig.bus.jobs.claim(TONE, "w1", lease=rig.long, wait=0.01) is None


async def test_a_waiting_worker_gets_the_job_when_it_comes(rig: Rig) -> None:
    waiting = asyncio.create_task(rig.peer.jobs.claim(TONE, "w1", lease=rig.long, wait=60))
    await rig.quiet()
    await rig.bus.jobs.submit(job("a", "echo"))
    await rig.bus.jobs.submit(job("b"))
    claim = await asyncio.wait_for(waiting, 5)
    assert claim is not None
    assert claim.job.key == stream("b")
    assert (await taken(rig, "echo")).job.key == stream("a")


async def test_one_job_goes_to_one_of_the_waiting_workers(rig: Rig) -> None:
    waiting = [
        asyncio.create_task(rig.peer.jobs.claim(TONE, f"w{n}", lease=rig.long, wait=60))
        for n in range(3)
    ]
    await rig.quiet()
    await rig.bus.jobs.submit(job("a"))
    await rig.bus.jobs.submit(job("b"))
    await rig.bus.jobs.submit(job("c"))
    claims = await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert sorted(c.job.key.stream_id for c in claims if c is not None) == ["a", "b", "c"]


async def test_a_job_submitted_twice_is_one_job(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    await rig.peer.jobs.submit(job())
    claim = await taken(rig)
    await rig.bus.jobs.submit(job())
    assert await take(rig) is None
    await rig.bus.jobs.finish(claim)
    await rig.bus.jobs.submit(job())
    assert await take(rig) is None


async def test_the_same_stream_id_of_another_tenant_is_another_job(rig: Rig) -> None:
    await rig.bus.jobs.submit(job(tenant="a"))
    await rig.bus.jobs.submit(job(tenant="b"))
    assert {(await taken(rig)).job.key.tenant for _ in range(2)} == {"a", "b"}


async def test_a_finished_job_never_comes_again(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await rig.bus.jobs.claim(TONE, "w1", lease=rig.tick, wait=0)
    assert claim is not None
    await rig.bus.jobs.finish(claim)
    await rig.advance(2 * rig.tick)
    assert await take(rig) is None
    assert not await rig.bus.jobs.renew(claim, lease=rig.long)


async def test_a_job_given_back_is_there_at_once_in_its_old_place(rig: Rig) -> None:
    await rig.bus.jobs.submit(job("a"))
    await rig.bus.jobs.submit(job("b"))
    claim = await taken(rig)
    await rig.bus.jobs.release(claim)
    assert not await rig.bus.jobs.renew(claim, lease=rig.long)
    again = await taken(rig, holder="w2")
    assert (again.job, again.holder) == (job("a"), "w2")
    assert again.deliveries == 1, "who gives back did not die of it"
    assert again.fence > claim.fence


async def test_a_job_given_back_goes_to_a_waiting_worker(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await taken(rig)
    waiting = asyncio.create_task(rig.peer.jobs.claim(TONE, "w2", lease=rig.long, wait=60))
    await rig.quiet()
    await rig.bus.jobs.release(claim)
    again = await asyncio.wait_for(waiting, 5)
    assert again is not None
    assert again.fence > claim.fence


async def test_a_job_whose_lease_ran_out_goes_to_another(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    old = await taken(rig)
    await lapse(rig, old)
    new = await taken(rig, holder="w2")
    assert (new.job, new.deliveries) == (old.job, 2)
    assert new.fence > old.fence
    assert not await rig.bus.jobs.renew(old, lease=rig.long)


async def test_a_job_whose_lease_runs_out_goes_to_a_waiting_worker(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    old = await taken(rig)
    waiting = asyncio.create_task(rig.peer.jobs.claim(TONE, "w2", lease=rig.long, wait=60))
    await rig.quiet()
    await lapse(rig, old)
    new = await asyncio.wait_for(waiting, 5)
    assert new is not None
    assert new.fence > old.fence


async def test_a_renewed_lease_holds(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await rig.bus.jobs.claim(TONE, "w1", lease=2 * rig.tick, wait=0)
    assert claim is not None
    assert await rig.bus.jobs.renew(claim, lease=rig.long)
    await rig.advance(3 * rig.tick)
    assert await take(rig) is None


async def test_a_lease_that_ran_out_is_renewed_while_nobody_else_has_the_job(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await taken(rig)
    await lapse(rig, claim)
    assert await rig.bus.jobs.renew(claim, lease=rig.long)
    assert await take(rig) is None


async def test_a_lapsed_claim_still_finishes_a_job_that_nobody_else_has(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    claim = await taken(rig)
    await lapse(rig, claim)
    await rig.bus.jobs.finish(claim)
    assert await take(rig) is None


async def test_a_claim_that_was_taken_over_has_no_effect(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    old = await taken(rig)
    await lapse(rig, old)
    new = await taken(rig, holder="w2")
    await rig.bus.jobs.finish(old)
    await rig.bus.jobs.release(old)
    assert await take(rig) is None
    assert await rig.bus.jobs.renew(new, lease=rig.long)


async def test_a_withdrawn_job_is_gone_whether_it_waited_or_ran(rig: Rig) -> None:
    await rig.bus.jobs.submit(job("a"))
    await rig.bus.jobs.submit(job("b"))
    claim = await taken(rig)
    await rig.bus.jobs.withdraw(stream("a"))
    await rig.bus.jobs.withdraw(stream("b"))
    await rig.bus.jobs.withdraw(stream("never"))
    assert await take(rig) is None
    assert not await rig.bus.jobs.renew(claim, lease=rig.long)


async def test_the_fence_rises_also_when_a_job_comes_back_after_its_withdrawal(rig: Rig) -> None:
    await rig.bus.jobs.submit(job())
    old = await taken(rig)
    await rig.bus.jobs.withdraw(stream())
    await rig.bus.jobs.submit(job())
    new = await taken(rig)
    assert new.fence > old.fence
    assert new.deliveries == 1
    await rig.bus.jobs.finish(old)
    assert await rig.bus.jobs.renew(new, lease=rig.long)


async def test_the_fence_of_a_claim_shuts_out_the_writer_of_the_claim_before(rig: Rig) -> None:
    await rig.bus.logs.create(stream(), ttl=rig.long)
    await rig.bus.jobs.submit(job())
    old = await taken(rig)
    zombie = rig.bus.logs.writer(stream(), Direction.DOWN, fence=old.fence)
    await settled(zombie, frame(0))
    await lapse(rig, old)
    new = await taken(rig, holder="w2")
    await settled(rig.peer.logs.writer(stream(), Direction.DOWN, fence=new.fence))
    await refuse(zombie, SessionReplaced)


async def test_depth_counts_what_waits(rig: Rig) -> None:
    assert await rig.bus.jobs.depth() == {}
    for name, engine in (("a", "tone"), ("b", "tone"), ("c", "echo")):
        await rig.bus.jobs.submit(job(name, engine))
    assert await rig.peer.jobs.depth() == {"tone": 2, "echo": 1}
    claim = await taken(rig)
    await taken(rig, "echo")
    assert await rig.peer.jobs.depth() == {"tone": 1}
    await lapse(rig, claim)
    assert await rig.peer.jobs.depth() == {"tone": 2}


@pytest.mark.parametrize("handed", [True, False], ids=["handed over", "still waiting"])
async def test_a_cancelled_claim_loses_no_job(rig: Rig, handed: bool) -> None:
    waiting = asyncio.create_task(rig.bus.jobs.claim(TONE, "w1", lease=rig.long, wait=60))
    await rig.quiet()
    if handed:
        await rig.bus.jobs.submit(job("a"))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await rig.bus.jobs.submit(job("a"))
    await rig.bus.jobs.submit(job("b"))
    first = await rig.peer.jobs.claim(TONE, "w2", lease=rig.long, wait=60)
    assert first is not None
    assert first.job.key == stream("a")


async def submit_all(rig: Rig, tenant: str, count: int) -> None:
    for number in range(count):
        await rig.bus.jobs.submit(job(f"{tenant}{number}", tenant=tenant))


async def test_the_many_jobs_of_one_tenant_do_not_keep_anothers_waiting(rig: Rig) -> None:
    await submit_all(rig, "many", 50)
    await submit_all(rig, "few", 2)
    order = [(await taken(rig)).job.key.tenant for _ in range(5)]
    assert order == ["many", "few", "many", "few", "many"]


async def test_a_tenant_that_comes_late_has_its_turn_next_but_saved_up_nothing(rig: Rig) -> None:
    await submit_all(rig, "many", 50)
    for _ in range(20):
        await taken(rig)
    await submit_all(rig, "late", 4)
    order = [(await taken(rig)).job.key.tenant for _ in range(8)]
    assert order.count("late") == 4
    assert "late" in order[:2]
    assert "many" in order[:3]


async def test_the_jobs_of_one_tenant_stay_in_order_whatever_was_withdrawn(rig: Rig) -> None:
    await submit_all(rig, "a", 4)
    await rig.bus.jobs.withdraw(job("a3", tenant="a").key)
    await rig.bus.jobs.withdraw(job("a1", tenant="a").key)
    await rig.bus.jobs.submit(job("a9", tenant="a"))
    names = [(await taken(rig)).job.key.stream_id for _ in range(3)]
    assert names == ["a0", "a2", "a9"]
