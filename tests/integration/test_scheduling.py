"""Who is served first when an engine process has fewer slots than there are streams."""

import asyncio

import pytest

from legato.audio import AudioFormat
from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.unit.worker.stage import Stage
from tests.unit.worker.test_synthesis import spoken

pytestmark = pytest.mark.integration

ONE_SLOT = EngineSpec(
    kind=EngineKind.SYNTHESIZE,
    name="heavy",
    target="tests.integration.heavy_engines:Heavy",
    slots=1,
)
SENTENCE = "A sentence takes this engine a while~, and gives far more than two seconds to hear. "
CHARACTER = len(spoken("a", AudioFormat(16_000)))


async def begin(bus: MemoryBus, name: str, text: str) -> Stage:
    stage = await Stage.open(
        "synthesize", bus=bus, engine="heavy", stream_id=name, sample_rate=16_000
    )
    await bus.jobs.submit(stage.job)
    stage.text(text)
    stage.end()
    return stage


async def test_first_sentences_come_before_those_of_streams_that_are_ahead() -> None:
    bus = MemoryBus()
    async with Worker(bus, WorkerConfig(engines=(ONE_SLOT,), load_timeout=30)) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        ahead = [await begin(bus, f"ahead-{n}", SENTENCE * 9) for n in range(5)]
        for stage in ahead:
            await stage.until(lambda s: len(s.pcm()) >= CHARACTER * len(SENTENCE))

        before = sentences(ahead)
        new = await begin(bus, "new", "Hello there.")
        await new.over()
        assert new.pcm() == spoken("Hello there.", AudioFormat(16_000))
        assert sentences(ahead) - before < 2.5, "it would be five if they came in turn"


def sentences(stages: list[Stage]) -> float:
    return sum(len(stage.pcm()) for stage in stages) / (CHARACTER * len(SENTENCE))
