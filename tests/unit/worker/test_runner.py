import asyncio

import pytest

from legato.bus.base import Claim, Job
from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.protocol.messages import StreamEnd
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.unit.worker.stage import TONE, TONE_RECOGNIZER, Stage, eventually
from tests.unit.worker.test_recognition import final_texts, noise
from tests.unit.worker.test_synthesis import spoken

CONFIG = WorkerConfig(
    engines=(TONE, TONE_RECOGNIZER), synthesizers=("tone",), recognizers=("tone",)
)


async def ready(worker: Worker) -> Worker:
    await asyncio.wait_for(worker.wait_ready(), 20)
    return worker


async def test_jobs_of_every_kind_are_done() -> None:
    bus = MemoryBus()
    speak = await Stage.open("synthesize", bus=bus, stream_id="a")
    listen = await Stage.open("recognize", bus=bus, stream_id="b")
    echo = await Stage.open("echo", bus=bus, engine="echo", stream_id="c")
    speak.text("Hello.")
    listen.frames_of(noise(0.5))
    echo.audio(b"ab")
    async with Worker(bus, CONFIG) as worker:
        await ready(worker)
        for stage in (speak, listen, echo):
            await bus.jobs.submit(stage.job)
            stage.end()
            await stage.over()
    assert speak.pcm() == spoken("Hello.")
    assert [text.text for text in listen.finals] == final_texts(noise(0.5))
    assert echo.pcm() == b"ab"
    assert worker.active_jobs == 0
    assert bus.counts()["jobs"] == 0


async def test_a_job_waits_until_a_slot_is_free() -> None:
    bus = MemoryBus()
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
    first = await Stage.open("synthesize", bus=bus, stream_id="a")
    second = await Stage.open("synthesize", bus=bus, stream_id="b")
    async with Worker(bus, WorkerConfig(engines=(spec,))) as worker:
        await ready(worker)
        for stage in (first, second):
            await bus.jobs.submit(stage.job)
            stage.text("Hello. ")
            stage.flush()
        await first.until(lambda s: s.frames)
        assert (await bus.jobs.depth())["tone"] == 1
        assert second.frames == []
        first.end()
        second.end()
        await second.over()


async def test_engines_are_told_with_their_state() -> None:
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="nobody")
    async with Worker(MemoryBus(), WorkerConfig(engines=(TONE, spec))) as worker:
        await ready(worker)
        assert worker.is_ready
        assert {r.name: r.state for r in worker.engines()} == {
            "tone": "ready",
            "nobody": "unavailable",
        }
    assert not worker.is_ready


async def test_a_draining_worker_finishes_what_it_has_and_claims_no_more() -> None:
    bus = MemoryBus()
    running = await Stage.open("synthesize", bus=bus, stream_id="a")
    worker = Worker(bus, CONFIG)
    await worker.start()
    await ready(worker)
    await bus.jobs.submit(running.job)
    running.text("Hello.")
    running.flush()
    await running.until(lambda s: s.frames)
    stopping = asyncio.create_task(worker.stop(drain=20))
    await asyncio.sleep(0)
    late = await Stage.open("synthesize", bus=bus, stream_id="b")
    await bus.jobs.submit(late.job)
    running.end()
    await asyncio.wait_for(stopping, 20)
    assert isinstance(running.last_word, StreamEnd)
    assert (await bus.jobs.depth())["tone"] == 1


async def test_a_stopping_worker_gives_its_jobs_back() -> None:
    bus = MemoryBus()
    stage = await Stage.open("synthesize", bus=bus)
    worker = Worker(bus, CONFIG)
    await worker.start()
    await ready(worker)
    await bus.jobs.submit(stage.job)
    stage.text("Hello there.")
    stage.flush()
    await stage.until(lambda s: s.frames)
    await worker.stop(drain=0.01)
    async with Worker(bus, CONFIG) as other:
        await ready(other)
        stage.end()
        await stage.over()
    assert stage.pcm() == spoken("Hello there.")


class FickleJobs:
    """Jobs of a memory bus whose leases another worker takes."""

    def __init__(self, bus: MemoryBus) -> None:
        self._renew = bus.jobs.renew
        self.taken = False
        bus.jobs.renew = self.renew  # type: ignore[method-assign]  # a lease that is lost

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        return not self.taken and await self._renew(claim, lease=lease)


async def test_a_worker_that_loses_its_lease_stops_working() -> None:
    bus = MemoryBus()
    jobs = FickleJobs(bus)
    stage = await Stage.open("recognize", bus=bus)
    config = WorkerConfig(engines=(TONE_RECOGNIZER,), renew_every=0.001, lease=100)
    async with Worker(bus, config) as worker:
        await ready(worker)
        await bus.jobs.submit(stage.job)
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        jobs.taken = True
        await eventually(lambda: not worker.active_jobs)
    assert stage.last_word is None


async def test_a_withdrawn_stream_frees_its_worker() -> None:
    bus = MemoryBus()
    stage = await Stage.open("recognize", bus=bus)
    async with Worker(bus, CONFIG) as worker:
        await ready(worker)
        await bus.jobs.submit(stage.job)
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        await bus.jobs.withdraw(stage.key)
        await bus.logs.delete(stage.key)
        await eventually(lambda: not worker.active_jobs)


async def test_a_worker_outlives_a_bus_that_goes_away() -> None:
    bus = MemoryBus()
    async with Worker(bus, CONFIG) as worker:
        await ready(worker)
        await bus.close()
        await asyncio.sleep(0)
        assert worker.is_ready


async def test_waiting_for_a_worker_that_does_not_run_is_a_mistake() -> None:
    worker = Worker(MemoryBus(), CONFIG)
    with pytest.raises(RuntimeError, match="not started"):
        await worker.wait_ready()
    await worker.finished()
    await worker.stop()


async def test_a_stopped_worker_is_finished() -> None:
    worker = Worker(MemoryBus(), CONFIG)
    await worker.start()
    finished = asyncio.create_task(worker.finished())
    await asyncio.sleep(0)
    await worker.stop()
    await asyncio.wait((finished,))
    assert finished.done()


async def test_the_same_name_is_served_for_both_tasks() -> None:
    bus = MemoryBus()
    stage = await Stage.open("recognize", bus=bus)
    async with Worker(bus, CONFIG) as worker:
        await ready(worker)
        await bus.jobs.submit(Job(key=stage.key, engine="tone", start=stage.start))
        stage.end()
        await stage.over()
