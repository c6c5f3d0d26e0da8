"""Batch engines in real engine processes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.engines.batching import BatchedSynthesizer
from legato.protocol.messages import Error, StreamEnd
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.unit.engines.gated_engine import GatedEngine, Slot
from tests.unit.worker.stage import Stage
from tests.unit.worker.test_recognition import noise

pytestmark = pytest.mark.integration

SYNTHESIZE, RECOGNIZE = EngineKind.SYNTHESIZE, EngineKind.RECOGNIZE
BANK = "tests.standins.tone_bank:tone_bank"
READER = "tests.standins.tone_bank:tone_reader"
OPEN = "tests.integration.test_batch_processes:open_gate"


def open_gate() -> BatchedSynthesizer[Slot]:
    return BatchedSynthesizer(GatedEngine(open_gate=True))


@asynccontextmanager
async def working(
    target: str, kind: EngineKind = SYNTHESIZE, *, slots: int | None = None
) -> AsyncIterator[Worker]:
    spec = EngineSpec(kind=kind, name="batch", target=target, slots=slots)
    async with Worker(MemoryBus(), WorkerConfig(engines=(spec,), load_timeout=30)) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        yield worker


async def begin(worker: Worker, name: str, kind: EngineKind = SYNTHESIZE) -> Stage:
    bus = worker._bus  # noqa: SLF001  (the test made it)
    assert isinstance(bus, MemoryBus)
    stage = await Stage.open(kind.value, bus=bus, engine="batch", stream_id=name)
    await bus.jobs.submit(stage.job)
    return stage


async def say(worker: Worker, name: str, text: str) -> Stage:
    stage = await begin(worker, name)
    stage.text(text)
    stage.end()
    await stage.over()
    return stage


async def test_streams_spoken_together_are_as_those_spoken_alone() -> None:
    texts = [f"Number {n} speaks. It says a little more." for n in range(6)]
    async with working(BANK) as worker:
        together = await asyncio.gather(*(say(worker, f"t{n}", t) for n, t in enumerate(texts)))
        alone = [await say(worker, f"a{n}", text) for n, text in enumerate(texts)]
    assert [stage.pcm() for stage in together] == [stage.pcm() for stage in alone]
    assert len({stage.pcm() for stage in alone}) == len(texts)


async def test_streams_heard_together_are_as_those_heard_alone() -> None:
    heard = [noise(1.0 + n / 3) for n in range(4)]

    async def listen(name: str, pcm: bytes) -> list[str]:
        stage = await begin(worker, name, RECOGNIZE)
        stage.frames_of(pcm)
        stage.end()
        await stage.over()
        return [text.text for text in stage.finals]

    async with working(READER, RECOGNIZE) as worker:
        together = await asyncio.gather(*(listen(f"t{n}", pcm) for n, pcm in enumerate(heard)))
        alone = [await listen(f"a{n}", pcm) for n, pcm in enumerate(heard)]
    assert together == alone
    assert all(alone)


async def test_a_cancelled_stream_frees_its_slot() -> None:
    async with working(BANK, slots=1) as worker:
        first = await begin(worker, "first")
        first.text("word " * 400)
        await first.until(lambda s: bool(s.pcm()))
        first.cancel(0)
        first.end()
        await first.over()
        second = await say(worker, "second", "Now me.")
    assert isinstance(second.last_word, StreamEnd)
    assert second.pcm()


async def test_a_step_that_fails_fails_its_streams_and_spares_the_process() -> None:
    async with working(OPEN) as worker:
        broken = await say(worker, "broken", "Well! No.")
        assert isinstance(broken.last_word, Error)
        assert broken.last_word.code == "engine_failed"
        assert "ZeroDivisionError" in broken.last_word.message
        assert isinstance((await say(worker, "next", "Well.")).last_word, StreamEnd)
