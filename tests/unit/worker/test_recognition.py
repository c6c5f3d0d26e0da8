import asyncio
from collections.abc import Awaitable, Callable, Iterable

import numpy as np
import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.bus.base import Direction
from legato.engines.base import EngineKind
from legato.engines.tone import ToneRecognizer
from legato.errors import SessionExpired, UnexpectedMessage
from legato.protocol.messages import Continuation, EndpointingSettings, Notice, StreamEnd
from legato.speech import RecognitionRequest
from legato.speech import Transcript as Heard
from legato.worker.calls import EngineLost
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.pool import EnginePool
from legato.worker.recognition import Recognition
from legato.worker.takeover import GivenBack, Standing, first_standing, read_standing
from tests.unit.worker.stage import TONE_RECOGNIZER, Running, Stage, eventually

AUDIO = AudioFormat(16_000)


def noise(seconds: float, *, seed: int = 1, audio: AudioFormat = AUDIO) -> bytes:
    rng = np.random.default_rng(seed)
    size = audio.samples(seconds) * audio.channels
    return rng.integers(-9_000, 9_000, size).astype("<i2").tobytes()


def heard(pcm: bytes, audio: AudioFormat = AUDIO) -> list[Heard]:
    """What the tone engine hears in a run of its own."""
    chunks: Iterable[AudioChunk] = [AudioChunk(pcm, audio)]
    return list(ToneRecognizer().recognize(RecognitionRequest(format=audio), chunks))


def final_texts(*runs: bytes, audio: AudioFormat = AUDIO) -> list[str]:
    return [text.text for run in runs for text in heard(run, audio) if text.final]


def recognition(
    stage: Stage,
    pool: EnginePool,
    standing: Standing | None = None,
    *,
    fence: int = 1,
    idle_release: float = 60,
) -> Recognition:
    standing = standing or Standing()
    audio = AudioFormat(stage.start.sample_rate, stage.start.channels)
    writer = stage.bus.logs.writer(stage.key, Direction.DOWN, fence=fence)
    return Recognition(
        stage.job,
        logs=stage.bus.logs,
        down=DownLog(writer, audio=audio, frame_ms=20, standing=standing),
        standing=standing,
        pool=pool,
        idle_release=idle_release,
        clock=asyncio.get_running_loop().time,
    )


async def working(stage: Stage, follow: Callable[[Stage], Awaitable[None]]) -> Stage:
    async with Running(TONE_RECOGNIZER) as (pool,):
        task = asyncio.create_task(recognition(stage, pool).run())
        await follow(stage)
        await asyncio.wait_for(task, 20)
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    return stage


async def work(stage: Stage, say: Callable[[Stage], None]) -> Stage:
    async def follow(stage: Stage) -> None:
        say(stage)

    return await working(stage, follow)


async def test_audio_becomes_the_engines_text() -> None:
    stage = await Stage.open("recognize")
    pcm = noise(2.5)

    def say(stage: Stage) -> None:
        stage.frames_of(pcm)
        stage.end()

    await work(stage, say)
    assert [text.text for text in stage.finals] == final_texts(pcm)
    assert [text.text for text in stage.texts] == [text.text for text in heard(pcm)]
    assert [(t.start, t.end) for t in stage.texts] == [(t.start, t.end) for t in heard(pcm)]
    assert [end.reason for end in stage.ends] == ["done"]
    assert stage.last_word == StreamEnd(seq=len(stage.numbers()) - 1, frames=0, samples=0)


async def test_words_keep_times_and_confidence() -> None:
    stage = await Stage.open("recognize")
    pcm = noise(1.0)

    def say(stage: Stage) -> None:
        stage.frames_of(pcm)
        stage.finalize()
        stage.frames_of(pcm)
        stage.end()

    await work(stage, say)
    first, second = stage.finals
    assert [(w.start, w.end) for w in first.words][:2] == [(0.0, 0.2), (0.2, 0.4)]
    assert [(w.start, w.end) for w in second.words][:2] == [(1.0, 1.2), (1.2, 1.4)]
    assert (second.start, second.end) == (16_000, 32_000)
    assert second.words[0].confidence == 1.0
    assert first.decoding_delay is not None
    assert first.decoding_delay >= 0


async def test_flush_makes_final_and_the_utterance_goes_on() -> None:
    stage = await Stage.open("recognize")
    one, two = noise(0.5), noise(0.7, seed=2)

    def say(stage: Stage) -> None:
        stage.flush()
        stage.frames_of(one)
        stage.flush()
        stage.frames_of(two)
        stage.end()

    await work(stage, say)
    assert [text.text for text in stage.finals] == final_texts(one, two)
    assert {text.utterance for text in stage.texts} == {0}
    assert len(stage.ends) == 1


@pytest.mark.parametrize("by_flag", [True, False])
async def test_an_utterance_ends_by_finalize_or_by_its_last_frame(by_flag: bool) -> None:
    stage = await Stage.open("recognize")
    one, two = noise(0.5), noise(0.3, seed=2)

    def say(stage: Stage) -> None:
        stage.frames_of(one)
        if by_flag:
            stage.audio(b"", last=True)
        else:
            stage.finalize()
            stage.finalize()
        stage.frames_of(two)
        stage.end()

    await work(stage, say)
    assert [text.text for text in stage.finals] == final_texts(one, two)
    assert [end.utterance for end in stage.ends] == [0, 1]
    assert {text.utterance for text in stage.finals} == {0, 1}
    assert stage.marks[-1].seq == stage.seq - 1


async def test_a_stream_without_audio_has_no_utterance() -> None:
    stage = await Stage.open("recognize")
    await work(stage, Stage.end)
    assert stage.ends == []


async def test_a_final_commits_the_frames_that_lie_before_its_end() -> None:
    stage = await Stage.open("recognize")
    pcm = noise(1.5)

    async def follow(stage: Stage) -> None:
        stage.frames_of(pcm, 600)  # 300 samples: a final at 16,000 cuts frame 53
        await stage.until(lambda s: s.finals)
        mark = stage.marks[-1]
        assert (mark.upto, mark.seq) == (16_000, 52)
        assert mark.restart is not None
        assert (mark.restart.seq, mark.restart.samples) == (53, 100)
        stage.end()

    await working(stage, follow)
    last = stage.marks[-1]
    assert (last.upto, last.seq, last.restart) == (24_000, stage.seq - 1, None)


async def test_a_cancel_drops_what_was_heard_since_the_last_final() -> None:
    stage = await Stage.open("recognize")
    pcm, more = noise(1.5), noise(0.5, seed=2)

    async def follow(stage: Stage) -> None:
        stage.frames_of(pcm)
        await stage.until(lambda s: len(s.texts) >= 7)
        stage.cancel(0)
        await stage.until(lambda s: s.ends)
        stage.frames_of(more)
        stage.end()

    await working(stage, follow)
    assert [text.text for text in stage.finals] == [*final_texts(pcm)[:1], *final_texts(more)]
    assert [(end.utterance, end.reason) for end in stage.ends] == [(0, "cancelled"), (1, "done")]
    assert stage.finals[-1].start == 24_000


async def test_audio_before_a_cancel_that_has_come_is_not_heard() -> None:
    stage = await Stage.open("recognize")

    def say(stage: Stage) -> None:
        stage.frames_of(noise(1.5))
        stage.finalize()
        stage.frames_of(noise(0.5))
        stage.cancel(1)
        stage.end()

    await work(stage, say)
    assert stage.finals == []
    assert [(end.utterance, end.reason) for end in stage.ends] == [
        (0, "cancelled"),
        (1, "cancelled"),
    ]


async def test_a_cancel_of_what_is_over_or_not_begun_changes_nothing() -> None:
    stage = await Stage.open("recognize")
    pcm = noise(0.5)

    async def follow(stage: Stage) -> None:
        stage.cancel(0)
        stage.frames_of(pcm)
        stage.finalize()
        await stage.until(lambda s: s.ends)
        stage.frames_of(pcm)
        stage.cancel(0)
        stage.end()

    await working(stage, follow)
    assert [end.reason for end in stage.ends] == ["done", "done"]


async def test_positions_are_counted_not_believed() -> None:
    stage = await Stage.open("recognize")
    pcm = noise(2.5)

    def say(stage: Stage) -> None:
        for at in range(0, len(pcm), 640):
            stage.sample = 0  # as clients of the articles' protocol send it
            stage.audio(pcm[at : at + 640])
        stage.end()

    await work(stage, say)
    assert [text.text for text in stage.finals] == final_texts(pcm)


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (44_100, 2), (48_000, 1)])
async def test_every_format_is_served(rate: int, channels: int) -> None:
    audio = AudioFormat(rate, channels)
    pcm = noise(1.3, audio=audio)
    stage = await Stage.open("recognize", sample_rate=rate, channels=channels)

    def say(stage: Stage) -> None:
        stage.frames_of(pcm, audio.frame_bytes(0.02))
        stage.end()

    await work(stage, say)
    assert [text.text for text in stage.finals] == final_texts(pcm, audio=audio)


async def test_endpointing_is_handed_on() -> None:
    stage = await Stage.open("recognize", endpointing=EndpointingSettings(silence=None))
    await work(stage, Stage.end)
    assert stage.last_word


async def test_text_is_not_what_a_recognition_takes() -> None:
    stage = await Stage.open("recognize")
    stage.text("hello")
    async with Running(TONE_RECOGNIZER) as (pool,):
        with pytest.raises(UnexpectedMessage):
            await recognition(stage, pool).run()


async def test_a_lost_engine_is_told_even_while_the_client_is_silent() -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        task = asyncio.create_task(recognition(stage, pool).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
    with pytest.raises(EngineLost):
        await asyncio.wait_for(task, 20)


@pytest.mark.parametrize("texts", [1, 3, 5, 6, 9, 12])
@pytest.mark.parametrize("size_bytes", [640, 600, 1_000])
async def test_another_worker_goes_on_with_the_same_text(texts: int, size_bytes: int) -> None:
    one, two = noise(1.7), noise(1.5, seed=2)

    async with Running(TONE_RECOGNIZER) as (pool,):
        stage = await Stage.open("recognize")
        stage.frames_of(one, size_bytes)
        stage.finalize()
        stage.frames_of(two, size_bytes)
        task = asyncio.create_task(recognition(stage, pool).run())
        await stage.until(lambda s: len(s.texts) >= texts)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        standing = await read_standing(stage.bus.logs, stage.key, 2)
        # Frames are one to an entry here, and so are `seq` and number, but for the offset.
        await stage.bus.logs.trim(stage.key, Direction.UP, upto=standing.committed.trim_seq + 1)
        stage.end()
        await recognition(stage, pool, standing, fence=2).run()
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    assert [text.text for text in stage.finals] == final_texts(one, two)
    assert [end.utterance for end in stage.ends] == [0, 1]
    ends = [text.end for text in stage.finals]
    assert ends == sorted(ends)


ONE_SLOT = EngineSpec(kind=EngineKind.RECOGNIZE, name="tone", slots=1)
REQUEST = RecognitionRequest(format=AUDIO)


@pytest.mark.parametrize("flushed", [False, True])
async def test_a_pause_frees_the_slot_and_changes_no_text(flushed: bool) -> None:
    stage = await Stage.open("recognize")
    first, pcm = noise(0.4, seed=3), noise(1.3)
    # The watch, which looks every 25 ms, must not be taken for the engine's own activity.
    async with Running(ONE_SLOT, config=WorkerConfig(engine_timeout=0.1)) as (pool,):
        task = asyncio.create_task(recognition(stage, pool, idle_release=0.1).run())
        stage.frames_of(first)
        stage.finalize()
        stage.frames_of(pcm[:16_000])
        if flushed:
            stage.flush()
        stage.frames_of(pcm[16_000:26_000])
        await stage.until(lambda s: s.texts and s.texts[-1].kind == "partial")
        await eventually(lambda: pool.has_free_slot)
        (await pool.open(REQUEST)).close()
        stage.frames_of(pcm[26_000:36_000])
        await eventually(lambda: not pool.has_free_slot)
        await eventually(lambda: pool.has_free_slot)
        stage.frames_of(pcm[36_000:])
        stage.end()
        await asyncio.wait_for(task, 20)
    await stage.over()
    runs = (pcm[:16_000], pcm[16_000:]) if flushed else (pcm,)
    assert [text.text for text in stage.finals] == final_texts(first, *runs)
    assert [end.reason for end in stage.ends] == ["done", "done"]
    assert stage.numbers() == list(range(len(stage.numbers())))
    ends = [text.end for text in stage.finals]
    assert ends == sorted(set(ends))
    assert ends[-1] == stage.sample


async def test_a_pause_after_a_final_takes_nothing_up_again() -> None:
    stage = await Stage.open("recognize")
    one, two = noise(0.5), noise(0.3, seed=2)
    async with Running(ONE_SLOT) as (pool,):
        task = asyncio.create_task(recognition(stage, pool, idle_release=0.02).run())
        stage.frames_of(one)
        stage.flush()
        await stage.until(lambda s: s.finals)
        await eventually(lambda: pool.has_free_slot)
        stage.frames_of(two)
        stage.end()
        await asyncio.wait_for(task, 20)
    await stage.over()
    assert [text.text for text in stage.finals] == final_texts(one, two)


async def test_a_cancel_in_a_pause_forgets_the_audio() -> None:
    stage = await Stage.open("recognize")
    async with Running(ONE_SLOT) as (pool,):
        task = asyncio.create_task(recognition(stage, pool, idle_release=0.02).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        await eventually(lambda: pool.has_free_slot)
        stage.cancel(0)
        stage.frames_of(noise(0.3, seed=2))
        stage.end()
        await asyncio.wait_for(task, 20)
    await stage.over()
    assert [end.reason for end in stage.ends] == ["cancelled", "done"]
    assert [text.text for text in stage.finals] == final_texts(noise(0.3, seed=2))


async def test_who_waits_for_a_slot_is_told_and_can_cancel() -> None:
    stage = await Stage.open("recognize")
    async with Running(ONE_SLOT) as (pool,):
        call = await pool.open(REQUEST)
        task = asyncio.create_task(recognition(stage, pool).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.down)
        assert stage.down == [
            Notice(kind="queued", position=1, message="all slots are taken"),
        ]
        stage.cancel(0)
        await stage.until(lambda s: s.ends)
        assert stage.ends[0].reason == "cancelled"
        stage.end()
        await asyncio.wait_for(task, 20)
        call.close()


@pytest.mark.parametrize("deleted", [True, False])
async def test_who_goes_leaves_the_line(deleted: bool) -> None:
    stage = await Stage.open("recognize")
    async with Running(ONE_SLOT) as (pool,):
        call = await pool.open(REQUEST)
        task = asyncio.create_task(recognition(stage, pool).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.down)
        if deleted:
            await stage.bus.logs.delete(stage.key)
            with pytest.raises(SessionExpired):
                await asyncio.wait_for(task, 5)
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        call.close()
        await eventually(lambda: pool.has_free_slot)


async def test_a_recognition_that_others_wait_for_makes_way_at_a_final_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("worker.pool", "flow.urgency"):
        monkeypatch.setattr(f"legato.{module}.PATIENCE", 1e-6)
    spec = EngineSpec(kind=EngineKind.RECOGNIZE, name="tone", slots=1)
    pcm = noise(3.0)
    first = await Stage.open("recognize", stream_id="a")
    second = await Stage.open("recognize", stream_id="b", bus=first.bus)
    async with Running(spec) as (pool,):
        tasks = [asyncio.create_task(recognition(stage, pool).run()) for stage in (first, second)]
        first.frames_of(pcm[: len(pcm) // 2])
        await first.until(lambda s: s.texts)
        second.frames_of(noise(1.5, seed=2))
        await eventually(lambda: pool.waiting > 0 or bool(second.texts))
        first.frames_of(pcm[len(pcm) // 2 :])
        await second.until(lambda s: s.texts)
        assert first.last_word is None
        for stage in (first, second):
            stage.end()
        await asyncio.wait_for(asyncio.gather(*tasks), 20)
    assert [text.text for text in first.finals] == final_texts(pcm)
    assert [text.text for text in second.finals] == final_texts(noise(1.5, seed=2))


async def test_a_recognition_is_left_after_its_next_final_and_goes_on_elsewhere() -> None:
    pcm = noise(3.0)
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        work = recognition(stage, pool)
        task = asyncio.create_task(work.run())
        stage.frames_of(pcm[: len(pcm) // 10])
        await stage.until(lambda s: s.texts)
        work.leave()
        assert not task.done(), "what is not final would have to be heard again"
        stage.frames_of(pcm[len(pcm) // 10 :])
        with pytest.raises(GivenBack):
            await asyncio.wait_for(task, 20)
        stage.end()
        standing = await read_standing(stage.bus.logs, stage.key, 2)
        await recognition(stage, pool, standing, fence=2).run()
    await stage.over()
    assert [text.text for text in stage.finals] == final_texts(pcm)
    assert stage.numbers() == list(range(len(stage.numbers())))


async def test_a_recognition_that_hears_nothing_is_left_at_once() -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        work = recognition(stage, pool)
        task = asyncio.create_task(work.run())
        await asyncio.sleep(0)
        work.leave()
        with pytest.raises(GivenBack):
            await asyncio.wait_for(task, 20)


async def test_a_recognition_that_falls_silent_after_it_was_asked_to_leave_leaves_too() -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        work = recognition(stage, pool)
        task = asyncio.create_task(work.run())
        stage.frames_of(noise(0.3))
        await stage.until(lambda s: s.texts)
        work.leave()
        stage.finalize()
        with pytest.raises(GivenBack):
            await asyncio.wait_for(task, 20)
    assert [end.reason for end in stage.ends] in ([], ["done"])


@pytest.mark.parametrize("speaking", [True, False])
async def test_in_the_next_epoch_positions_go_on_and_the_utterance_too(speaking: bool) -> None:
    where = Continuation(epoch=1, utterance=4, speaking=speaking, sample=48_000)
    stage = await Stage.open("recognize", continues=where)
    pcm = noise(2.5)
    if not speaking:
        stage.frames_of(pcm)
    stage.finalize()
    stage.frames_of(pcm)
    stage.end()
    async with Running(TONE_RECOGNIZER) as (pool,):
        job = recognition(stage, pool, first_standing(stage.start))
        await asyncio.wait_for(job.run(), 20)
    await stage.over()
    assert [end.utterance for end in stage.ends] == [4, 5]
    heard_of = (1 if speaking else 2) * [pcm]
    assert [text.text for text in stage.finals] == final_texts(*heard_of)
    assert stage.finals[0].start >= 48_000
    assert stage.marks[-1].upto == 48_000 + len(heard_of) * len(pcm) // 2
    first = stage.finals[0].utterance
    assert first == (5 if speaking else 4)
