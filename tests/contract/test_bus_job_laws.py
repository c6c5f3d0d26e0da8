"""What holds of a bus whatever is done to it: random histories against simple models."""

import asyncio
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from legato.bus.base import Claim, StreamKey
from tests.contract.buses import Implementation, job
from tests.contract.laws import BusLaws

ENGINES = ("tone", "echo", "hibari")


@dataclass
class JobModel:
    """A job as it should be: whether somebody holds it, and who is the last that did."""

    place: int
    engine: str
    claim: Claim | None = None
    held: bool = False


@dataclass
class Waiting:
    """A worker that waits for a job."""

    engines: tuple[str, ...]
    task: asyncio.Task[Claim | None]


class JobLaws(BusLaws):
    """Jobs are handed out oldest first, to one worker at a time, until they are done."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[StreamKey, JobModel] = {}
        self.claims: list[Claim] = []
        self.fences: dict[StreamKey, int] = {}
        self.waiting: list[Waiting] = []
        self.names = 0

    def claimable(self, engines: tuple[str, ...]) -> list[StreamKey]:
        free = [k for k, j in self.jobs.items() if not j.held and j.engine in engines]
        return sorted(free, key=lambda key: self.jobs[key].place)

    def got(self, claim: Claim) -> None:
        """Note a claim, which must be of a free job and have a new fence."""
        key = claim.job.key
        model = self.jobs[key]
        assert not model.held
        assert claim.fence > self.fences.get(key, 0)
        assert claim.deliveries == (model.claim.deliveries if model.claim else 0) + 1
        self.fences[key] = claim.fence
        model.claim, model.held = claim, True
        self.claims.append(claim)

    def current(self, claim: Claim) -> JobModel | None:
        """The job of a claim, if the claim is the last one of it."""
        model = self.jobs.get(claim.job.key)
        return model if model is not None and model.claim is claim else None

    @rule(engine=st.sampled_from(ENGINES))
    def submit(self, engine: str) -> None:
        self.names += 1
        new = job(f"s{self.names}", engine)
        self.run(self.rig.bus.jobs.submit(new))
        self.jobs[new.key] = JobModel(self.names, engine)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def submit_again(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.jobs)))
        self.run(self.rig.peer.jobs.submit(job(key.stream_id, self.jobs[key].engine)))

    @rule(engines=st.lists(st.sampled_from(ENGINES), unique=True).map(tuple))
    def claim(self, engines: tuple[str, ...]) -> None:
        expected = self.claimable(engines)
        claim = self.run(self.rig.bus.jobs.claim(engines, "w", lease=self.rig.long, wait=0))
        assert (claim.job.key if claim else None) == (expected[0] if expected else None)
        if claim is not None:
            self.got(claim)

    @rule(engines=st.lists(st.sampled_from(ENGINES), unique=True, min_size=1).map(tuple))
    def wait(self, engines: tuple[str, ...]) -> None:
        waits = self.rig.peer.jobs.claim(engines, "w", lease=self.rig.long, wait=3600)
        self.waiting.append(Waiting(engines, self.loop.create_task(waits)))

    # Over a network such a race does not end the same way twice, which hypothesis must rely on;
    # test_bus_jobs has the case for every bus.
    @precondition(lambda self: self.waiting and self.rig.bus is self.rig.peer)
    @rule(data=st.data(), first=st.sampled_from([None, *ENGINES]))
    def stop_waiting(self, data: st.DataObject, first: str | None) -> None:
        """Cancel a worker that waits, perhaps in the moment in which it is handed a job."""
        waiting = data.draw(st.sampled_from(self.waiting))

        async def act() -> None:
            if first is not None:
                self.names += 1
                new = job(f"s{self.names}", first)
                self.jobs[new.key] = JobModel(self.names, first)
                await self.rig.bus.jobs.submit(new)
                if not self.rig.instant:
                    # Else it would be left to chance who is first, and no history could be
                    # played again.
                    await self.rig.quiet()
            waiting.task.cancel()
            await asyncio.wait([waiting.task])

        self.run(act())
        if waiting.task.cancelled():
            self.waiting.remove(waiting)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        model = self.current(claim)
        assert self.run(self.rig.bus.jobs.renew(claim, lease=self.rig.long)) == (model is not None)
        if model is not None:
            model.held = True

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def lapse(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        model = self.current(claim)
        if self.run(self.rig.bus.jobs.renew(claim, lease=self.rig.tick)):
            assert model is not None
            model.held = False
            self.run(self.rig.advance(2 * self.rig.tick))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), done=st.booleans())
    def let_go(self, data: st.DataObject, done: bool) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        model = self.current(claim)
        jobs = self.rig.bus.jobs
        self.run(jobs.finish(claim) if done else jobs.release(claim))
        self.claims.remove(claim)
        if model is not None and done:
            del self.jobs[claim.job.key]
        elif model is not None:
            model.held = False
            # Nobody may renew it any more; a claim that was given back does not count.
            model.claim = Claim(
                job=claim.job, fence=0, deliveries=claim.deliveries - 1, holder=claim.holder
            )
            assert not self.run(jobs.renew(claim, lease=self.rig.long))

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.jobs)))
        self.run(self.rig.bus.jobs.withdraw(key))
        del self.jobs[key]

    async def harvest(self) -> None:
        """Take note of what waiting workers were handed."""
        await self.rig.quiet()
        for waiting in [w for w in self.waiting if w.task.done()]:
            claim = waiting.task.result()
            assert claim is not None
            assert claim.job.engine in waiting.engines
            self.got(claim)
            self.waiting.remove(waiting)

    @invariant()
    def no_job_waits_beside_a_worker_that_waits_for_it(self) -> None:
        self.run(self.harvest())
        for waiting in self.waiting:
            assert self.claimable(waiting.engines) == []

    @invariant()
    def depth_counts_what_waits(self) -> None:
        self.run(self.harvest())
        depth = self.run(self.rig.peer.jobs.depth())
        assert depth == {e: n for e in ENGINES if (n := len(self.claimable((e,))))}

    async def at_the_end(self) -> None:
        """Whatever was neither done nor withdrawn is still there, once."""
        await self.harvest()
        for waiting in self.waiting:
            waiting.task.cancel()
            await asyncio.wait([waiting.task])
        for model in self.jobs.values():
            if model.held and model.claim is not None:
                await self.rig.bus.jobs.release(model.claim)
                model.held = False
        for key in self.claimable(ENGINES):
            claim = await self.rig.bus.jobs.claim(ENGINES, "w", lease=self.rig.long, wait=0)
            assert claim is not None
            assert claim.job.key == key
        assert await self.rig.bus.jobs.claim(ENGINES, "w", lease=self.rig.long, wait=0) is None


def test_jobs_go_oldest_first_to_one_worker_at_a_time_until_done(
    implementation: Implementation,
) -> None:
    laws = type("JobLaws", (JobLaws,), {"implementation": implementation})
    effort = settings(stateful_step_count=40, max_examples=implementation.examples)
    run_state_machine_as_test(laws, settings=effort)
