"""Jobs of a memory bus: a queue for each engine, leases, and workers that wait."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from legato.bus.base import Claim, Job, JobState, StreamKey
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.bounds import Bounds
from legato.bus.memory.deadlines import Deadlines
from legato.bus.memory.rounds import Rounds
from legato.bus.memory.tombstones import LIFETIME, Tombstones
from legato.errors import BusUnavailable, Overloaded

TICK = 0.25
"""Seconds between looks while leases run, so that it is noticed when the loop was held up."""


@dataclass(slots=True, eq=False)
class _Work:
    """A job and what became of it.

    Attributes:
        job: As submitted.
        place: Rises with each submission; kept when the job waits again.
        round: In which its tenant has a turn; kept as well.
        waiting: Whether it stands in its engine's queue.
        fence: Of the claim that may still renew, release or finish; 0 for none.
        deliveries: Claims so far, without those that were given back.
        lease: Seconds of the lease, as last asked for.
        holder: The worker that claimed it last.
        claimed: When that was.
        submitted: When it came.
    """

    job: Job
    place: int
    round: int
    waiting: bool = False
    fence: int = 0
    deliveries: int = 0
    lease: float = 0.0
    holder: str | None = None
    claimed: float = 0.0
    submitted: float = 0.0


@dataclass(slots=True, eq=False)
class _Waiter:
    engines: Collection[str]
    holder: str
    lease: float
    future: asyncio.Future[Claim | None]

    def give(self, claim: Claim | None) -> None:
        if not self.future.done():
            self.future.set_result(claim)


class MemoryJobs:
    """Fills the port's `Jobs`; used within one event loop.

    While a worker waits for an engine, no job of that engine does. Fences come from one counter
    for all streams, so that they never go back, whatever is forgotten.

    Who holds a lease lives in the same loop. When that was held up, nobody could renew: then all
    leases begin anew before any of them may lapse.
    """

    def __init__(self, alarm: Alarm, bounds: Bounds) -> None:
        self._alarm = alarm
        self._bounds = bounds
        self._work: dict[StreamKey, _Work] = {}
        self._places: dict[int, _Work] = {}
        self._queues: dict[str, list[tuple[int, int]]] = {}
        self._rounds = Rounds()
        self._waiters: dict[_Waiter, None] = {}
        self._leases: Deadlines[StreamKey] = Deadlines()
        self._finished = Tombstones(alarm)
        self._next_place = count(1)
        self._next_fence = count(1)

    async def submit(self, job: Job) -> None:
        now = self._alarm.now()
        if job.key in self._work or self._finished.cover(job.key, now):
            return
        if len(self._work) >= self._bounds.streams:
            raise Overloaded(f"the bus holds {self._bounds.streams} jobs, its limit")
        if len(self._finished) >= self._bounds.tombstones:
            raise Overloaded(
                f"{self._bounds.tombstones} jobs, the limit, were finished within {LIFETIME:g} s"
            )
        turn = self._rounds.enter(job.key.tenant)
        work = _Work(job, next(self._next_place), turn, submitted=now)
        self._work[job.key] = work
        self._places[work.place] = work
        self._offer(work, now)

    async def claim(
        self, engines: Collection[str], holder: str, *, lease: float, wait: float
    ) -> Claim | None:
        now = self._alarm.now()
        self._lapse(now)
        work = self._next(engines)
        if work is not None:
            self._leave_queue(work)
            return self._grant(work, holder, lease, now)
        if wait <= 0:
            return None
        loop = asyncio.get_running_loop()
        waiter = _Waiter(engines, holder, lease, loop.create_future())
        self._waiters[waiter] = None
        timer = loop.call_later(wait, waiter.give, None)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self._take_back(waiter)
            raise
        finally:
            timer.cancel()
            self._waiters.pop(waiter, None)

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        now = self._alarm.now()
        work = self._held(claim)
        if work is None:
            return False
        self._leave_queue(work)
        self._lease(work, lease, now)
        return True

    async def release(self, claim: Claim) -> None:
        now = self._alarm.now()
        work = self._held(claim)
        if work is not None:
            work.deliveries -= 1
            self._give_back(work, now)

    async def finish(self, claim: Claim) -> None:
        now = self._alarm.now()
        work = self._held(claim)
        if work is not None:
            self._drop(work)
            self._finished.add(claim.job.key, now)

    async def withdraw(self, key: StreamKey) -> bool:
        self._alarm.now()
        self._finished.discard(key)
        work = self._work.get(key)
        if work is None:
            return False
        if work.waiting:
            self._rounds.withdraw(key.tenant, work.round)
        self._drop(work)
        return True

    async def depth(self) -> Mapping[str, int]:
        self._lapse(self._alarm.now())
        return {engine: len(queue) for engine, queue in self._queues.items()}

    async def list(self) -> Sequence[JobState]:
        now = self._alarm.now()
        self._lapse(now)
        return [
            JobState(
                key=work.job.key,
                engine=work.job.engine,
                holder=None if work.waiting else work.holder,
                deliveries=work.deliveries,
                age=now - (work.submitted if work.waiting else work.claimed),
            )
            for work in sorted(self._work.values(), key=lambda work: work.place)
        ]

    def sweep(self, now: float) -> float | None:
        """Let leases lapse that have run out; return when to come again."""
        self._lapse(now)
        tick = now + TICK if self._leases else None
        pending = [self._leases.next(), tick, self._finished.sweep(now)]
        return min((due for due in pending if due is not None), default=None)

    def close(self) -> None:
        """End every wait for a job with `BusUnavailable`."""
        for waiter in self._waiters:
            if not waiter.future.done():
                waiter.future.set_exception(BusUnavailable("the bus is closed"))

    def counts(self) -> dict[str, int]:
        """Count what is kept, by kind."""
        return {
            "jobs": len(self._work),
            "finished_jobs": len(self._finished),
            "waiting_workers": len(self._waiters),
            "tenants_in_line": len(self._rounds),
        }

    def _held(self, claim: Claim) -> _Work | None:
        work = self._work.get(claim.job.key)
        return work if work is not None and work.fence == claim.fence else None

    def _next(self, engines: Collection[str]) -> _Work | None:
        fronts = [self._queues[engine][0] for engine in engines if engine in self._queues]
        return self._places[min(fronts)[1]] if fronts else None

    def _offer(self, work: _Work, now: float) -> None:
        """Hand a job to the worker that has waited longest, else let it wait in its place."""
        for waiter in self._waiters:
            if work.job.engine in waiter.engines and not waiter.future.done():
                waiter.give(self._grant(work, waiter.holder, waiter.lease, now))
                return
        work.waiting = True
        insort(self._queues.setdefault(work.job.engine, []), (work.round, work.place))

    def _leave_queue(self, work: _Work) -> None:
        if not work.waiting:
            return
        work.waiting = False
        queue = self._queues[work.job.engine]
        del queue[bisect_left(queue, (work.round, work.place))]
        if not queue:
            del self._queues[work.job.engine]

    def _grant(self, work: _Work, holder: str, lease: float, now: float) -> Claim:
        work.fence = next(self._next_fence)
        work.deliveries += 1
        work.holder, work.claimed = holder, now
        self._rounds.serve(work.job.key.tenant, work.round)
        self._lease(work, lease, now)
        return Claim(job=work.job, fence=work.fence, deliveries=work.deliveries, holder=holder)

    def _lease(self, work: _Work, lease: float, now: float) -> None:
        work.lease = lease
        self._leases.set(work.job.key, now + lease)
        self._alarm.at(now + min(lease, TICK))

    def _lapse(self, now: float) -> None:
        if self._alarm.was_late():
            for key in self._leases.pending():
                self._leases.set(key, now + self._work[key].lease)
        for key in self._leases.take(now):
            self._offer(self._work[key], now)

    def _give_back(self, work: _Work, now: float) -> None:
        self._leases.discard(work.job.key)
        work.fence = 0
        if not work.waiting:
            self._offer(work, now)

    def _take_back(self, waiter: _Waiter) -> None:
        """Give back what a cancelled worker was handed but never saw."""
        future = waiter.future
        if not future.done() or future.cancelled() or future.exception() is not None:
            return
        claim = future.result()
        work = None if claim is None else self._held(claim)
        if work is not None and not self._alarm.closed:
            work.deliveries -= 1
            self._give_back(work, self._alarm.now())

    def _drop(self, work: _Work) -> None:
        self._leave_queue(work)
        self._leases.discard(work.job.key)
        del self._work[work.job.key], self._places[work.place]
