"""Jobs of a Redis bus: queues, leases, and workers that are told when there is work."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from legato.bus.base import Claim, Job, JobState, StreamKey
from legato.bus.redis.encoding import decode_job, encode_job
from legato.bus.redis.keys import Keys, digest, tenant_digest
from legato.bus.redis.link import Command, Reply
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.renewals import Renewals
from legato.bus.redis.scripts import (
    CLAIM,
    DEPTH,
    FINISH,
    LIST_JOBS,
    RELEASE,
    SUBMIT,
    WITHDRAW,
)
from legato.bus.redis.servers import Servers, ask
from legato.errors import BusUnavailable, Internal, LegatoError
from legato.telemetry.logs import logger

FINISHED: Final = 300.0
"""Seconds that a finished job is remembered."""

KEPT: Final = 3600.0
"""Seconds that a job outlives the last that was heard of it; a lease twice its length at least."""

RAREST_LOOK: Final = 5.0
"""Seconds between looks of a worker that waits; it also looks when a lease may run out, and
when it is told that there is work."""

SOONEST_LOOK: Final = 0.05
"""Seconds between looks for leases that run out one after the other."""


PAGE: Final = 500
"""Jobs that are listed by one script."""

JOB_FACTS: Final = 5
"""Values that `list_jobs.lua` says of each."""

log = logger("legato.bus.redis")


@dataclass(eq=False, slots=True)
class _Waiter:
    engines: Sequence[str]
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class RedisJobs:
    """Fills the port's `Jobs`; used within one event loop.

    Args:
        servers: Where the queues are.
        pushes: Tells workers of work.
        keys: Names the queues.
    """

    def __init__(self, servers: Servers, pushes: Pushes, keys: Keys) -> None:
        self._servers = servers
        self._pushes = pushes
        self._base = keys.jobs
        self._renewals = Renewals(servers, keys.jobs)
        self._waiters: dict[_Waiter, None] = {}
        self._tasks: set[asyncio.Task[Claim | float]] = set()
        self._undoing: set[asyncio.Task[None]] = set()
        self._token = ""
        self._closed = False

    def counts(self) -> dict[str, int]:
        """Count what this process waits for."""
        return {"waiting_workers": len(self._waiters), "claims": len(self._tasks)}

    async def submit(self, job: Job) -> None:
        name, engine = digest(job.key), job.engine
        finished, clock, engines = self._key("t", name), self._key("c"), self._key("e")
        rounds = self._key("u", tenant_digest(job.key.tenant))
        keys = (self._job(name), finished, clock, *self._queue(engine), engines, rounds)
        tokens = await self._ask(SUBMIT(keys, name, engine, encode_job(job), _ms(KEPT)))
        self._tell(tokens, engine)

    async def claim(
        self, engines: Collection[str], holder: str, *, lease: float, wait: float
    ) -> Claim | None:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        waiter = _Waiter(sorted(set(engines)))
        self._waiters[waiter] = None
        try:
            while True:
                waiter.woken.clear()
                left = max(0.0, until - loop.time())
                outcome = await self._attempt(waiter.engines, holder, lease, left)
                if isinstance(outcome, Claim):
                    return outcome
                left = until - loop.time()
                if left <= 0:
                    return None
                await _event(waiter.woken, min(left, outcome))
        finally:
            del self._waiters[waiter]

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        return await self._renewals.renew(claim, lease_ms=_ms(lease), keep_ms=_kept(lease))

    async def release(self, claim: Claim) -> None:
        await self._give_back(claim)

    async def finish(self, claim: Claim) -> None:
        name = digest(claim.job.key)
        queue, _ = self._queue(claim.job.engine)
        keys = (self._job(name), self._key("h"), queue, self._key("t", name))
        await self._ask(FINISH(keys, name, claim.fence, _ms(FINISHED)))

    async def withdraw(self, key: StreamKey) -> bool:
        name = digest(key)
        keys = (self._job(name), self._key("h"), self._key("t", name), self._key("c"))
        return await self._ask(WITHDRAW(keys, self._base, name)) == 1

    async def depth(self) -> Mapping[str, int]:
        reply = await self._ask(DEPTH((self._key("e"),), self._base))
        depths: dict[str, int] = {}
        if isinstance(reply, list):
            for engine, waiting in zip(reply[::2], reply[1::2], strict=True):
                depths[engine.decode()] = waiting
        return depths

    async def list(self) -> Sequence[JobState]:
        engines = await self._ask(("SMEMBERS", self._key("e")))
        queues = engines if isinstance(engines, list) else []
        found: dict[StreamKey, tuple[int, JobState]] = {}
        for queue in (*(self._queue(engine.decode())[0] for engine in queues), self._key("h")):
            found.update(await self._listed(queue, held=queue == self._key("h")))
        return [state for _, state in sorted(found.values(), key=lambda pair: pair[0])]

    def move(self, token: str) -> None:
        """Be told on another channel; who waits looks, and is listed there."""
        self._token = token
        self.look()

    def look(self) -> None:
        """Let all who wait look now, rather than when that is due."""
        for waiter in self._waiters:
            waiter.woken.set()

    def job_waits(self, engine: str) -> None:
        """Let those look who wait for an engine."""
        for waiter in self._waiters:
            if engine in waiter.engines:
                waiter.woken.set()

    def close(self) -> None:
        """End every wait."""
        self._closed = True
        self.look()

    async def closed(self) -> None:
        """Wait until nothing is on its way any more."""
        tasks = (*self._tasks, *self._undoing)
        if tasks:
            await asyncio.wait(tasks)

    # ── claiming ──

    async def _attempt(
        self, engines: Sequence[str], holder: str, lease: float, wait: float
    ) -> Claim | float:
        """Take a job, or return the seconds after which to look again."""
        if self._closed:
            raise BusUnavailable("the bus is closed")
        if not engines:
            return wait
        task = asyncio.create_task(self._take(engines, holder, lease, wait))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Redis may have given a job to who does not want it any more.
            undo = asyncio.create_task(self._undo(task))
            self._undoing.add(undo)
            undo.add_done_callback(self._undoing.discard)
            await asyncio.shield(undo)
            raise

    async def _take(
        self, engines: Sequence[str], holder: str, lease: float, wait: float
    ) -> Claim | float:
        queues = [self._queue(engine) for engine in engines]
        keys = (
            self._key("h"),
            self._key("c"),
            self._key("o", secrets.token_hex(8)),
            *(queue for queue, _ in queues),
            *(waiting for _, waiting in queues),
        )
        token = self._token if wait > 0 else ""
        command = CLAIM(keys, self._base, _ms(lease), _kept(lease), token, _ms(wait), holder)
        reply = await self._ask(command)
        match reply:
            case [bytes(data), bytes(fence), int(deliveries)]:
                return _claim(data, int(fence), deliveries, holder)
            case [int(due_ms)]:
                due = RAREST_LOOK if due_ms < 0 else due_ms / 1000
                return min(RAREST_LOOK, max(SOONEST_LOOK, due))
        raise Internal(f"Redis answers what was not asked: {type(reply).__name__}")

    async def _undo(self, task: asyncio.Task[Claim | float]) -> None:
        with suppress(LegatoError):  # the lease, if there is one, runs out by itself
            outcome = await task
            if isinstance(outcome, Claim):
                await self._give_back(outcome)

    async def _give_back(self, claim: Claim) -> None:
        name, engine = digest(claim.job.key), claim.job.engine
        keys = (self._job(name), self._key("h"), *self._queue(engine))
        self._tell(await self._ask(RELEASE(keys, name, claim.fence)), engine)

    async def _listed(self, queue: str, *, held: bool) -> dict[StreamKey, tuple[int, JobState]]:
        """Return the jobs of one list with their places, read a page at a time."""
        found: dict[StreamKey, tuple[int, JobState]] = {}
        first = 0
        while True:
            command = LIST_JOBS((queue,), self._base, first, first + PAGE - 1)
            reply = await self._ask(command)
            if not isinstance(reply, list):
                return found
            now_us, count, *facts = reply
            for at in range(0, len(facts), JOB_FACTS):
                found.update(_state(facts[at : at + JOB_FACTS], int(now_us), held=held))
            first += PAGE
            if count < PAGE:
                return found

    # ── names ──

    async def _ask(self, command: Command) -> Reply:
        (reply,) = await ask(self._servers, self._base, command)
        return reply

    def _tell(self, tokens: Reply, engine: str) -> None:
        if isinstance(tokens, list):
            self._pushes.job([token.decode() for token in tokens], engine)

    def _key(self, *parts: str) -> str:
        return ":".join((self._base, *parts))

    def _job(self, name: str) -> str:
        return self._key("j", name)

    def _queue(self, engine: str) -> tuple[str, str]:
        """Return the keys of an engine's queue and of the workers that wait for it."""
        return self._key("q", engine), self._key("w", engine)


def _state(
    facts: Sequence[bytes], now_us: int, *, held: bool
) -> Mapping[StreamKey, tuple[int, JobState]]:
    """Return the place and state of a job by its stream; nothing if it is not understood."""
    data, place, fence, deliveries, holder = facts
    try:
        job = decode_job(data)
    except Internal:
        return {}  # of a later version
    state = JobState(
        key=job.key,
        engine=job.engine,
        holder=holder.decode() if held else None,
        deliveries=int(deliveries),
        age=max(0.0, (now_us - int(fence if held else place)) / 1e6),
    )
    return {job.key: (int(place), state)}


def _claim(data: bytes, fence: int, deliveries: int, holder: str) -> Claim | float:
    try:
        job = decode_job(data)
    except Internal:
        # Left to its lease, for a worker of a later version to find.
        log.exception("job not understood", deliveries=deliveries)
        return SOONEST_LOOK
    return Claim(job=job, fence=fence, deliveries=deliveries, holder=holder)


async def _event(event: asyncio.Event, timeout: float) -> None:
    """Wait for an event, for at most `timeout` seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await event.wait()


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


def _kept(lease: float) -> int:
    return _ms(max(KEPT, 2 * lease))
