import asyncio
import time

import pytest

from legato.bus.base import Claim
from legato.bus.memory import MemoryBus
from legato.errors import BusUnavailable, Overloaded
from tests.contract.buses import FakeClock, job, stream
from tests.unit.bus.memory.conftest import SMALL


async def take(bus: MemoryBus, *, wait: float = 0) -> Claim | None:
    return await bus.jobs.claim(("tone",), "w1", lease=2, wait=wait)


async def wait(bus: MemoryBus) -> asyncio.Task[Claim | None]:
    """Start a claim that waits."""
    task = asyncio.create_task(take(bus, wait=60))
    await asyncio.sleep(0)
    return task


async def test_jobs_past_the_limit_are_refused_until_one_ends(bus: MemoryBus) -> None:
    for n in range(SMALL.streams):
        await bus.jobs.submit(job(f"s{n}"))
    with pytest.raises(Overloaded, match="3 jobs"):
        await bus.jobs.submit(job("s9"))
    await bus.jobs.submit(job("s0"))
    await bus.jobs.withdraw(stream("s0"))
    await bus.jobs.submit(job("s9"))


async def test_finished_jobs_are_remembered_for_a_time_and_bounded(
    bus: MemoryBus, clock: FakeClock
) -> None:
    for n in range(SMALL.tombstones):
        await bus.jobs.submit(job(f"s{n}"))
        claim = await take(bus)
        assert claim is not None
        await bus.jobs.finish(claim)
    with pytest.raises(Overloaded, match="finished"):
        await bus.jobs.submit(job("s9"))
    clock.now += 300
    bus.sweep()
    await bus.jobs.submit(job("s9"))
    assert bus.counts()["finished_jobs"] == 0


async def test_the_worker_that_waited_longest_is_served_first(bus: MemoryBus) -> None:
    first, second = await wait(bus), await wait(bus)
    await bus.jobs.submit(job("a"))
    await bus.jobs.submit(job("b"))
    claims = await asyncio.gather(first, second)
    assert [claim and claim.job.key.stream_id for claim in claims] == ["a", "b"]


async def test_a_job_handed_to_a_cancelled_worker_goes_to_the_next_as_if_never_delivered(
    bus: MemoryBus,
) -> None:
    cancelled, next_one = await wait(bus), await wait(bus)
    await bus.jobs.submit(job())
    cancelled.cancel()
    claim = await asyncio.wait_for(next_one, 5)
    assert claim is not None
    assert (claim.deliveries, cancelled.cancelled()) == (1, True)


async def test_a_job_handed_to_a_cancelled_worker_and_withdrawn_stays_gone(bus: MemoryBus) -> None:
    cancelled = await wait(bus)
    await bus.jobs.submit(job())
    cancelled.cancel()
    await bus.jobs.withdraw(stream())
    await asyncio.wait([cancelled])
    assert await take(bus) is None


async def test_cancelling_a_worker_whose_wait_is_over_passes(bus: MemoryBus) -> None:
    closed = await wait(bus)
    await bus.close()
    closed.cancel()
    await asyncio.wait([closed])
    assert closed.cancelled()


async def test_cancelling_a_worker_that_was_served_before_the_bus_closed_passes(
    bus: MemoryBus,
) -> None:
    served, other = await wait(bus), await wait(bus)
    await bus.jobs.submit(job())
    await bus.close()
    served.cancel()
    await asyncio.wait([served])
    assert served.cancelled()
    with pytest.raises(BusUnavailable):
        await other


async def test_a_claim_that_cancels_itself_gets_nothing(bus: MemoryBus) -> None:
    async def act() -> Claim | None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await take(bus, wait=60)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(act())
    assert bus.counts()["waiting_workers"] == 0


async def test_a_worker_that_gave_up_is_not_handed_a_job(bus: MemoryBus) -> None:
    assert await take(bus, wait=0.001) is None
    assert bus.counts()["waiting_workers"] == 0
    await bus.jobs.submit(job())
    assert await bus.jobs.depth() == {"tone": 1}


async def test_a_lapsed_lease_is_seen_before_it_is_swept(bus: MemoryBus, clock: FakeClock) -> None:
    await bus.jobs.submit(job())
    assert await take(bus) is not None
    clock.now += 2
    assert await bus.jobs.depth() == {"tone": 1}
    again = await take(bus)
    assert again is not None
    assert again.deliveries == 2


async def test_a_lapsed_claim_may_be_given_back(bus: MemoryBus, clock: FakeClock) -> None:
    await bus.jobs.submit(job())
    claim = await take(bus)
    assert claim is not None
    clock.now += 2
    bus.sweep()
    await bus.jobs.release(claim)
    assert not await bus.jobs.renew(claim, lease=2)
    assert await bus.jobs.depth() == {"tone": 1}


async def test_a_lapsed_job_reaches_a_waiting_worker_by_the_timer_alone() -> None:
    bus = MemoryBus()
    await bus.jobs.submit(job())
    assert await bus.jobs.claim(("tone",), "w1", lease=0.01, wait=0) is not None
    claim = await asyncio.wait_for(bus.jobs.claim(("tone",), "w2", lease=60, wait=60), 5)
    assert claim is not None
    assert claim.holder == "w2"
    await bus.close()


async def test_jobs_that_come_and_go_leave_nothing_behind(bus: MemoryBus) -> None:
    for n in range(100):
        await bus.jobs.submit(job(f"s{n}"))
        claim = await take(bus)
        assert claim is not None
        await bus.jobs.finish(claim)
        await bus.jobs.withdraw(claim.job.key)
    counts = bus.counts()
    assert (counts["jobs"], counts["finished_jobs"]) == (0, 0)


class StoppedClock:
    """The clock of a process that is stopped for a time."""

    lost = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.lost


@pytest.mark.parametrize("renewed", [True, False])
async def test_no_lease_lapses_before_its_holder_had_the_time_to_renew_it(renewed: bool) -> None:
    clock = StoppedClock()
    bus = MemoryBus(clock=clock, stopwatch=clock)
    await bus.jobs.submit(job())
    claim = await bus.jobs.claim(("tone",), "w1", lease=0.3, wait=0)
    assert claim is not None
    waiting = asyncio.create_task(bus.jobs.claim(("tone",), "w2", lease=0.3, wait=60))
    await asyncio.sleep(0)
    clock.lost += 100
    assert await take(bus) is None, "a look right after the stop"
    clock.lost += 100
    bus.sweep()
    await asyncio.sleep(0)
    assert not waiting.done()
    if renewed:
        assert await bus.jobs.renew(claim, lease=60)
        assert await bus.jobs.depth() == {}
        waiting.cancel()
    else:
        again = await asyncio.wait_for(waiting, 5)
        assert again is not None
        assert (again.holder, again.deliveries) == ("w2", 2)
    await bus.close()
