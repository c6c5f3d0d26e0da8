import asyncio
import logging
import subprocess
import sys
from dataclasses import replace

import pytest

from legato.bus.base import Claim, Job, StreamKey
from legato.bus.cluster import read_cluster
from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.protocol.messages import Notice, StreamEnd
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.contract.buses import FakeClock
from tests.unit.worker.stage import TONE, TONE_RECOGNIZER, Stage, eventually, small_bus
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


async def test_idle_streams_hold_no_slot() -> None:
    bus = MemoryBus()
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
    stages = [await Stage.open("synthesize", bus=bus, stream_id=name) for name in "abc"]
    async with Worker(bus, WorkerConfig(engines=(spec,), claim_pause=0.001)) as worker:
        await ready(worker)
        for stage in stages:
            await bus.jobs.submit(stage.job)
            stage.text("Hello. ")
            stage.flush()
            await stage.until(lambda s: s.pcm() == spoken("Hello. "))
        assert worker.active_jobs == 3
        assert [record.slots for record in worker.engines()] == [1]
        for stage in stages:
            stage.end()
            await stage.over()


async def test_a_job_waits_while_the_worker_holds_all_streams_that_it_may() -> None:
    bus = MemoryBus()
    first = await Stage.open("synthesize", bus=bus, stream_id="a")
    second = await Stage.open("synthesize", bus=bus, stream_id="b")
    async with Worker(bus, WorkerConfig(engines=(TONE,), max_streams=1)) as worker:
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


async def test_a_worker_without_a_free_slot_takes_all_that_is_left_in_one_go() -> None:
    bus = small_bus(20_000)
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
    speaking = await Stage.open("synthesize", bus=bus, stream_id="a")
    others = [await Stage.open("synthesize", bus=bus, stream_id=name) for name in "bcd"]
    config = WorkerConfig(engines=(spec,), claim_wait=60.0, claim_pause=3600.0)
    async with Worker(bus, config) as worker:
        await ready(worker)
        await bus.jobs.submit(speaking.job)
        speaking.text("x" * 100)
        speaking.flush()
        await speaking.until(lambda s: len(s.pcm()) > 10_000)
        for stage in others:
            await bus.jobs.submit(stage.job)
        await eventually(lambda: worker.active_jobs == 4)


async def test_a_worker_without_a_free_slot_takes_what_nobody_else_does() -> None:
    bus = small_bus(20_000)
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
    speaking = await Stage.open("synthesize", bus=bus, stream_id="a")
    config = WorkerConfig(engines=(spec,), claim_wait=0.001, claim_pause=0.001)
    async with Worker(bus, config) as worker:
        await ready(worker)
        await bus.jobs.submit(speaking.job)
        speaking.text("x" * 100)
        speaking.flush()
        await speaking.until(lambda s: len(s.pcm()) > 10_000)
        late = await Stage.open("synthesize", bus=bus, stream_id="b")
        await bus.jobs.submit(late.job)
        late.text("Hello.")
        late.flush()
        await late.until(lambda s: s.down)
        (news,) = late.down
        assert isinstance(news, Notice)
        assert (news.kind, news.position) == ("queued", 1)
        speaking.cancel(0)
        await late.until(lambda s: s.pcm() == spoken("Hello."))


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


@pytest.mark.parametrize("dropped", [False, True])
async def test_a_worker_that_loses_its_lease_stops_working(
    dropped: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    bus = MemoryBus()
    jobs = FickleJobs(bus)
    stage = await Stage.open("recognize", bus=bus)

    async def exists(key: StreamKey) -> bool:
        return key == stage.key and not dropped

    bus.logs.exists = exists  # type: ignore[method-assign]  # a stream that its client dropped
    config = WorkerConfig(engines=(TONE_RECOGNIZER,), renew_every=0.001, lease=100)
    async with Worker(bus, config) as worker:
        await ready(worker)
        await bus.jobs.submit(stage.job)
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        jobs.taken = True
        await eventually(lambda: not worker.active_jobs)
    assert stage.last_word is None
    told = [r for r in caplog.records if "leases lost" in r.getMessage()]
    assert len(told) == (0 if dropped else 1)


async def test_a_worker_that_is_late_to_renew_is_not_counted_as_dead() -> None:
    clock = FakeClock()
    bus = MemoryBus(clock=clock)
    stage = await Stage.open("synthesize", bus=bus)
    config = WorkerConfig(engines=(TONE,), renew_every=60, lease=100, max_deliveries=2)
    async with Worker(bus, config) as worker:
        await ready(worker)
        await bus.jobs.submit(stage.job)
        for count in range(1, 6):
            stage.text("Hello.")
            stage.finalize()
            await stage.until(lambda s, n=count: len(s.ends) == n)  # type: ignore[misc]  # keeps the loop's value
            clock.now += 101
            bus.sweep()
            await eventually(lambda: worker.active_jobs == 1)
        stage.end()
        await stage.over()
    assert isinstance(stage.last_word, StreamEnd)
    assert stage.pcm() == 5 * spoken("Hello.")


async def test_a_withdrawn_stream_frees_its_worker_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
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
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


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


async def test_a_worker_tells_of_itself_until_it_ends() -> None:
    bus = MemoryBus()
    states: list[str] = []
    async with Worker(bus, CONFIG) as worker:
        await ready(worker)

        async def is_ready() -> bool:
            states[:] = [one.state for one in (await read_cluster(bus)).workers]
            return states == ["ready"]

        await eventually(is_ready)
    assert (await read_cluster(bus)).workers == ()


async def test_a_draining_worker_gives_idle_streams_to_another_at_once() -> None:
    bus = MemoryBus()
    stages = [await Stage.open("synthesize", bus=bus, stream_id=name) for name in "ab"]
    stages.append(await Stage.open("echo", bus=bus, engine="echo", stream_id="c"))
    worker = Worker(bus, CONFIG)
    await worker.start()
    await ready(worker)
    async with Worker(bus, CONFIG) as other:
        await ready(other)
        for stage in stages:
            await bus.jobs.submit(stage.job)
        await eventually(lambda: worker.active_jobs + other.active_jobs == 3)
        await asyncio.wait_for(worker.stop(drain=600), 20)
        await eventually(lambda: other.active_jobs == 3)
        for stage in stages[:2]:
            stage.text("Hello.")
            stage.end()
        stages[2].audio(b"ab")
        stages[2].end()
        for stage in stages:
            await stage.over()
    assert [stage.pcm() for stage in stages] == [spoken("Hello."), spoken("Hello."), b"ab"]


async def test_a_worker_asks_to_be_replaced_after_so_many_streams() -> None:
    bus = MemoryBus()
    config = replace(CONFIG, restart_after=2, recycle_jitter=0)
    async with Worker(bus, config) as worker:
        await ready(worker)
        finished = asyncio.create_task(worker.finished())
        for name in "ab":
            assert not finished.done()
            stage = await Stage.open("synthesize", bus=bus, stream_id=name)
            await bus.jobs.submit(stage.job)
            stage.text("Hello.")
            stage.end()
            await stage.over()
        await asyncio.wait_for(finished, 20)
        await worker.stop(drain=20)
    assert bus.counts()["jobs"] == 0


async def test_an_engine_that_nobody_knows_is_told_and_the_others_serve() -> None:
    unknown = EngineSpec(kind=EngineKind.SYNTHESIZE, name="siren")
    async with Worker(MemoryBus(), WorkerConfig(engines=(unknown, TONE))) as worker:
        await ready(worker)
        lost, tone = worker.engines()
    assert lost.state == "unavailable"
    assert "no engine 'siren'" in (lost.reason or "")
    assert tone.state == "ready"


def test_a_worker_imports_only_the_engines_that_it_is_to_have() -> None:
    script = (
        "import asyncio, sys\n"
        "from legato.bus.memory import MemoryBus\n"
        "from legato.engines.base import EngineKind\n"
        "from legato.worker.config import EngineSpec, WorkerConfig\n"
        "from legato.worker.runner import Worker\n"
        "async def run():\n"
        "    tone = EngineSpec(kind=EngineKind.SYNTHESIZE, name='tone')\n"
        "    async with Worker(MemoryBus(), WorkerConfig(engines=(tone,))) as worker:\n"
        "        await worker.wait_ready()\n"
        "        print(worker.engines()[0].state)\n"
        "asyncio.run(run())\n"
        "others = ('legato.engines.upstream.', 'legato.engines.cosyvoice.')\n"
        "print(*sorted(name for name in sys.modules if name.startswith(others)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["ready"]
