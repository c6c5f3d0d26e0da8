"""The worker as a whole: engines kept alive, jobs claimed while slots are free, leases renewed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from types import TracebackType
from typing import Final, Self

from legato.bus.base import Bus, Claim
from legato.bus.presence import Presence, process_name
from legato.bus.records import EngineRecord, ProcessRecord
from legato.engines.base import EngineKind
from legato.engines.registry import Listing
from legato.errors import BusUnavailable
from legato.telemetry.logs import logger
from legato.telemetry.metrics import JOBS, JOBS_ACTIVE
from legato.worker.announcement import Announcement, describe
from legato.worker.assignment import RELEASED, Assignment
from legato.worker.cache import SpeechCache
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.forgetting import Forgetting
from legato.worker.pool import EnginePool
from legato.worker.prompts import Prompts
from legato.worker.renewal import listed, renew
from legato.worker.routing import Router
from legato.worker.wear import Uses

ECHO: Final = "echo"
BUS_PAUSE: Final = 1.0
"""Seconds to leave a bus alone that does not answer."""

log = logger("legato.worker")


class Worker:
    """Does the jobs of one bus.

    A job's lease is renewed while its task lives, and a task cannot outlive progress: engine calls
    are watched, slots are waited for with a deadline, and all other waits are for the client.

    Args:
        bus: Where jobs come from.
        config: Settings.
    """

    def __init__(self, bus: Bus, config: WorkerConfig | None = None) -> None:
        self._bus = bus
        self._config = config or WorkerConfig()
        self._holder = process_name()
        self._pools: list[EnginePool] = []
        self._announcement = Announcement(bus.registry, self._pools, self._config)
        self._presence = Presence(bus.registry, self._describe)
        self._router = Router(())
        self._prompts = Prompts(bus, self._keep_prompts)
        self._cache = SpeechCache(self._config.cache_bytes, barred=self._config.uncached_tenants)
        self._held: dict[asyncio.Task[None], Claim] = {}
        self._assignments: dict[asyncio.Task[None], Assignment] = {}
        self._left = Uses(
            self._config.restart_after,
            self._config.recycle_jitter,
            Random(),  # noqa: S311  (no secret)
        )
        self._worn = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._ready = asyncio.Event()
        self._draining = False
        self._claiming: list[asyncio.Task[None]] = []
        self._main: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._renewing = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether every engine is warm, or known not to be available."""
        return self._ready.is_set()

    @property
    def active_jobs(self) -> int:
        """Streams being worked on."""
        return len(self._held)

    def engines(self) -> list[EngineRecord]:
        """Return all engines as they are announced, those that cannot be used with the reason."""
        return self._announcement.records()

    async def start(self) -> None:
        """Begin: engines load, and jobs are claimed for each as soon as it is warm."""
        listings = await asyncio.to_thread(_listings, self._config)
        for spec, listing in zip(self._config.engines, listings, strict=True):
            pool = EnginePool(spec, self._config, listing, self._announcement.changed)
            self._pools.append(pool)
        self._router = Router([p for p in self._pools if p.spec.kind is EngineKind.SYNTHESIZE])
        self._main = asyncio.create_task(self._run())

    async def wait_ready(self) -> None:
        """Wait until every engine is warm, or known not to be available.

        Raises:
            RuntimeError: If the worker failed or was stopped meanwhile.
        """
        if self._main is None:
            raise RuntimeError("the worker was not started")
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait((ready, self._main), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if not self._ready.is_set():
            raise RuntimeError("the worker ended before it was ready")

    async def finished(self) -> None:
        """Wait until the worker has ended, or is to be stopped after `restart_after` streams.

        Raises what it failed with, if it did.
        """
        main = self._main
        if main is None:
            return
        worn = asyncio.create_task(self._worn.wait())
        try:
            await asyncio.wait((main, worn), return_when=asyncio.FIRST_COMPLETED)
        finally:
            worn.cancel()
        if main.done():
            _raise_failure(main)

    async def renew(self, engines: Sequence[EngineSpec]) -> None:
        """Load the engines anew, with the options that they have now, and drop no stream.

        See `legato.worker.renewal.renew`; nothing happens before the start and after the end.
        """
        async with self._renewing:
            group = self._group
            if group is not None:
                await renew(self._pools, engines, lambda pool: group.create_task(pool.run()))

    async def stop(self, drain: float = 0.0) -> None:
        """End: claim no more, wait for jobs, give back what is left, end all engine processes.

        A job is given back as soon as another worker can go on without saying anything again, and
        at the end of `drain` in any case, wherever it is then.

        Args:
            drain: Seconds that running jobs may take to get there.
        """
        self._draining = True
        for task in self._claiming:
            task.cancel()
        if drain > 0:
            for assignment in list(self._assignments.values()):
                assignment.leave()
            try:
                async with asyncio.timeout(drain):
                    await self._idle.wait()
            except TimeoutError:
                log.warning("jobs are given back", count=len(self._held))
        main, self._main = self._main, None
        if main is not None:
            main.cancel()
            await asyncio.wait((main,))
            _raise_failure(main)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._announcement.run())
                group.create_task(self._presence.run())
                group.create_task(self._renew_leases())
                group.create_task(self._prompts.run())
                group.create_task(Forgetting(self._bus.registry, self._cache).run())
                group.create_task(self._await_engines())
                for pool in self._pools:
                    group.create_task(pool.run())
                names = dict.fromkeys(pool.spec.name for pool in self._pools)
                for name in (*names, ECHO):
                    self._claiming.append(group.create_task(self._claim_for(name, group)))
        finally:
            self._ready.clear()
            self._group = None

    def _describe(self, started: float, loop_lag: float) -> ProcessRecord:
        return describe(
            self._holder,
            "draining" if self._draining else "ready" if self._ready.is_set() else "loading",
            started=started,
            loop_lag=loop_lag,
            streams=len(self._held),
            pools=self._pools,
        )

    async def _await_engines(self) -> None:
        for pool in self._pools:
            await pool.settled()
        await self._announcement.publish()
        self._ready.set()
        states = {f"{pool.spec.kind}:{pool.spec.name}": str(pool.state) for pool in self._pools}
        log.info("worker ready", engines=states)

    async def _claim_for(self, name: str, group: asyncio.TaskGroup) -> None:
        """Claim jobs for one engine, up to the streams that may be held.

        While a call would find a free slot, the bus is asked to hand over a job as soon as there is
        one. Else it is asked now and then for all that is left over: a stream goes to a worker with
        a free slot if there is any, and if not, it is at least told that it waits.
        """
        pools = [pool for pool in self._pools if pool.spec.name == name]
        await _first_ready(pools)
        config = self._config
        room = asyncio.Semaphore(config.echo_slots if name == ECHO else config.max_streams)
        claim: Claim | None = None
        while True:
            await room.acquire()
            is_free = name == ECHO or any(pool.has_free_slot for pool in pools)
            if not is_free and claim is None:
                await asyncio.sleep(config.claim_pause)
            claim = await self._claim(name, wait=config.claim_wait if is_free else 0)
            if claim is None:
                room.release()
                continue
            claim = self._excuse(claim)
            assignment = self._assignment(claim)
            task = group.create_task(self._work(claim, assignment, room))
            self._held[task] = claim
            self._assignments[task] = assignment
            self._idle.clear()
            if self._left.take():
                self._worn.set()

    def _excuse(self, claim: Claim) -> Claim:
        """Leave out of account that the lease lapsed if it was ours: we were late, not dead."""
        for task, held in self._held.items():
            if held.job.key == claim.job.key:
                task.cancel()
                return replace(claim, deliveries=held.deliveries)
        return claim

    async def _claim(self, name: str, *, wait: float) -> Claim | None:
        try:
            return await self._bus.jobs.claim(
                (name,), self._holder, lease=self._config.lease, wait=wait
            )
        except BusUnavailable:
            log.warning("bus unavailable")
            await asyncio.sleep(BUS_PAUSE)
            return None

    async def _work(self, claim: Claim, assignment: Assignment, room: asyncio.Semaphore) -> None:
        engine = claim.job.engine
        JOBS_ACTIVE.labels(engine).inc()
        outcome = "released"
        try:
            outcome = await assignment.run()
            if outcome == RELEASED:
                await self._bus.jobs.release(claim)
            elif outcome != BusUnavailable.code:
                await self._bus.jobs.finish(claim)
        except BusUnavailable:
            log.warning("bus unavailable")
        except asyncio.CancelledError:
            # The worker stops, or the lease is lost; in the latter case this does nothing.
            with suppress(BusUnavailable):
                await self._bus.jobs.release(claim)
            raise
        finally:
            JOBS_ACTIVE.labels(engine).dec()
            JOBS.labels(engine, outcome).inc()
            task = asyncio.current_task()
            if task is not None:
                self._held.pop(task, None)
                self._assignments.pop(task, None)
            if not self._held:
                self._idle.set()
            room.release()

    def _assignment(self, claim: Claim) -> Assignment:
        return Assignment(
            claim,
            logs=self._bus.logs,
            config=self._config,
            router=self._router,
            recognizer=next(
                (
                    pool
                    for pool in self._pools
                    if pool.spec.kind is EngineKind.RECOGNIZE and pool.spec.name == claim.job.engine
                ),
                None,
            ),
            cache=self._cache,
            clock=asyncio.get_running_loop().time,
            prompts=self._prompts,
        )

    def _keep_prompts(self, digests: Collection[str]) -> None:
        for pool in self._pools:
            pool.keep_prompts(digests)

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(self._config.renew_every)
            held = list(self._held.items())
            renewals = (self._renew(task, claim) for task, claim in held)
            lost = sum(await asyncio.gather(*renewals))
            if lost:  # to another worker, or taken back while their clients are away
                log.info("leases lost", count=lost)

    async def _renew(self, task: asyncio.Task[None], claim: Claim) -> bool:
        """Renew a lease; True if it is lost although the stream is there."""
        try:
            kept = await self._bus.jobs.renew(claim, lease=self._config.lease)
            dropped = not kept and not await self._bus.logs.exists(claim.job.key)
        except BusUnavailable:
            return False  # unknown, not lost: the fence keeps a late writer out
        if kept or task not in self._held:
            return False
        log.debug("stream dropped" if dropped else "lease lost", stream=claim.job.key.stream_id)
        task.cancel()
        return not dropped


async def _first_ready(pools: Sequence[EnginePool]) -> None:
    """Wait until one of the engines is ready, for ever if need be; not at all for none."""
    for pool in pools:
        await pool.settled()
    waits = [asyncio.create_task(pool.ready()) for pool in pools]
    if not waits:
        return
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _raise_failure(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        raise error


def _listings(config: WorkerConfig) -> list[Listing | None]:
    """Return what the registry knows of each engine; imports their code and no other's."""
    return [listed(spec) for spec in config.engines]
