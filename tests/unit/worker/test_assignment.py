import asyncio

import pytest

from legato.bus.base import Claim, Direction, Logs
from legato.errors import Overloaded
from legato.protocol.messages import Error, Notice, StreamEnd
from legato.worker.assignment import Assignment
from legato.worker.cache import SpeechCache
from legato.worker.config import WorkerConfig
from legato.worker.pool import EnginePool
from legato.worker.routing import Router
from tests.unit.worker.stage import TONE, TONE_RECOGNIZER, Running, Stage, small_bus
from tests.unit.worker.test_recognition import final_texts, noise
from tests.unit.worker.test_synthesis import spoken


def assignment(
    claim: Claim,
    logs: Logs,
    pools: list[EnginePool],
    *,
    config: WorkerConfig | None = None,
    recognizer: EnginePool | None = None,
) -> Assignment:
    return Assignment(
        claim,
        logs=logs,
        config=config or WorkerConfig(),
        router=Router(pools),
        recognizer=recognizer,
        cache=SpeechCache(0),
        clock=asyncio.get_running_loop().time,
    )


async def outcome(stage: Stage, claim: Claim | None = None) -> str:
    async with Running(TONE, TONE_RECOGNIZER) as (synthesizer, recognizer):
        job = assignment(
            claim or stage.claim(), stage.bus.logs, [synthesizer], recognizer=recognizer
        )
        return await asyncio.wait_for(job.run(), 20)


async def test_a_synthesis_is_done() -> None:
    stage = await Stage.open("synthesize")
    stage.text("Hello.")
    stage.end()
    assert await outcome(stage) == "ok"
    assert stage.pcm() == spoken("Hello.")


async def test_a_recognition_is_done() -> None:
    stage = await Stage.open("recognize")
    stage.frames_of(noise(1.2))
    stage.end()
    assert await outcome(stage) == "ok"
    assert [text.text for text in stage.finals] == final_texts(noise(1.2))


async def test_an_echo_is_done() -> None:
    stage = await Stage.open("echo", engine="echo")
    stage.audio(b"ab")
    stage.end()
    assert await outcome(stage) == "ok"
    assert stage.pcm() == b"ab"


async def test_a_fault_is_the_streams_last_word() -> None:
    stage = await Stage.open("recognize")
    stage.text("hello")
    assert await outcome(stage) == "unexpected_message"
    await stage.over()
    last = stage.last_word
    assert isinstance(last, Error)
    assert last.code == "unexpected_message"
    assert "takes audio" in last.message


async def test_a_task_that_the_engine_cannot_do_is_refused() -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE) as pools:
        job = assignment(stage.claim(), stage.bus.logs, pools)
        assert await job.run() == "unexpected_message"


async def test_what_the_engine_cannot_do_is_refused_before_audio_comes() -> None:
    stage = await Stage.open("recognize", hotwords=["Legato"])
    assert await outcome(stage) == "unsupported_option"
    await stage.over()
    last = stage.last_word
    assert isinstance(last, Error)
    assert "'tone' does not have hotwords" in last.message


async def test_a_bug_is_told_without_details() -> None:
    stage = await Stage.open("synthesize", engine="nobody")
    stage.text("Hello.")
    stage.end()
    assert await outcome(stage) == "internal"
    await stage.over()
    last = stage.last_word
    assert isinstance(last, Error)
    assert last.code == "internal"
    assert "nobody" not in last.message


async def test_a_stream_that_is_gone_has_nobody_to_tell() -> None:
    stage = await Stage.open("synthesize")
    await stage.bus.logs.delete(stage.key)
    assert await outcome(stage) == "gone"


async def test_a_worker_whose_stream_another_has_writes_nothing() -> None:
    stage = await Stage.open("synthesize")
    await stage.bus.logs.writer(stage.key, Direction.DOWN, fence=9).settle()
    stage.text("Hello.")
    assert await outcome(stage) == "gone"
    assert stage.down == []


async def test_a_bus_that_goes_away_leaves_the_job_undone() -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        job = assignment(stage.claim(), stage.bus.logs, [], recognizer=pool)
        task = asyncio.create_task(job.run())
        await asyncio.sleep(0)
        await stage.bus.close()
        assert await asyncio.wait_for(task, 20) == "bus_unavailable"


async def test_a_job_that_was_finished_before_is_not_done_twice() -> None:
    stage = await Stage.open("synthesize")
    stage.text("Hello.")
    stage.end()
    assert await outcome(stage) == "ok"
    await stage.over()
    before = len(stage.down)
    assert await outcome(stage, stage.claim(fence=2, deliveries=2)) == "ok"
    assert len(stage.down) == before


@pytest.mark.parametrize("deliveries", [1, 2])
async def test_another_claim_goes_on_from_where_the_log_stands(deliveries: int) -> None:
    """Also one that counts as the first, as the one before was given back."""
    stage = await Stage.open("synthesize")
    stage.text("Hello there.")
    stage.flush()
    async with Running(TONE) as pools:
        first = asyncio.create_task(assignment(stage.claim(), stage.bus.logs, pools).run())
        await stage.until(lambda s: s.frames)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        stage.end()
        claim = stage.claim(fence=2, deliveries=deliveries)
        assert await assignment(claim, stage.bus.logs, pools).run() == "ok"
    assert stage.pcm() == spoken("Hello there.")
    assert [type(item) for item in stage.down].count(StreamEnd) == 1


async def test_a_job_that_workers_die_of_is_given_up() -> None:
    stage = await Stage.open("synthesize")
    assert await outcome(stage, stage.claim(deliveries=4)) == "engine_failed"
    await stage.over()
    assert isinstance(stage.last_word, Error)
    assert "3 workers" in stage.last_word.message


async def test_a_client_who_never_reads_need_not_be_told() -> None:
    bus = small_bus(50_000)
    stage = await Stage.open("recognize", bus=bus)
    filler = bus.logs.writer(stage.key, Direction.DOWN, fence=1)
    filler.append([Notice(kind="degraded", message="x" * 100_000)])
    with pytest.raises(Overloaded):
        filler.append([Notice(kind="degraded")])
    stage.text("hello")
    assert await outcome(stage) == "unexpected_message"


def news(stage: Stage) -> list[str]:
    return [item.kind for item in stage.down if isinstance(item, Notice)]


async def test_the_client_is_told_that_another_worker_goes_on_and_when_it_does() -> None:
    stage = await Stage.open("synthesize")
    stage.text("Hello there.")
    stage.flush()
    async with Running(TONE) as pools:
        first = asyncio.create_task(assignment(stage.claim(), stage.bus.logs, pools).run())
        await stage.until(lambda s: s.frames)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert news(stage) == []
        stage.text(" And more.")
        stage.end()
        claim = stage.claim(fence=2, deliveries=2)
        assert await assignment(claim, stage.bus.logs, pools).run() == "ok"
    assert news(stage) == ["recovering", "restored"]


async def test_an_echo_that_another_worker_goes_on_with_says_so() -> None:
    stage = await Stage.open("echo", engine="echo")
    stage.audio(b"ab")
    stage.end()
    assert await outcome(stage, stage.claim(deliveries=2)) == "ok"
    assert news(stage) == ["recovering", "restored"]


async def test_a_stream_that_was_given_back_between_two_utterances_goes_on_without_a_word() -> None:
    stage = await Stage.open("synthesize")
    stage.text("Hello.")
    stage.finalize()
    async with Running(TONE) as pools:
        job = assignment(stage.claim(), stage.bus.logs, pools)
        task = asyncio.create_task(job.run())
        await stage.until(lambda s: s.ends)
        job.leave()
        assert await asyncio.wait_for(task, 20) == "released"
        stage.text("More.")
        stage.end()
        assert await assignment(stage.claim(fence=2), stage.bus.logs, pools).run() == "ok"
    assert stage.pcm() == spoken("Hello.") + spoken("More.")
    assert news(stage) == []


async def test_an_utterance_is_finished_before_its_stream_is_given_back() -> None:
    stage = await Stage.open("synthesize")
    async with Running(TONE) as pools:
        job = assignment(stage.claim(), stage.bus.logs, pools)
        task = asyncio.create_task(job.run())
        stage.text("Hello. ")
        stage.flush()
        await stage.until(lambda s: s.frames)
        job.leave()
        stage.text("And more.")
        stage.finalize()
        assert await asyncio.wait_for(task, 20) == "released"
    assert stage.pcm() == spoken("Hello. ") + spoken("And more.")
    assert len(stage.ends) == 1


async def test_a_job_that_is_left_before_it_began_does_nothing() -> None:
    stage = await Stage.open("echo", engine="echo")
    job = assignment(stage.claim(), stage.bus.logs, [])
    job.leave()
    assert await asyncio.wait_for(job.run(), 20) == "released"
    assert stage.down == []
