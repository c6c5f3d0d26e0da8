import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from legato.audio import AudioFormat
from legato.bus.base import Direction
from legato.engines.base import EngineKind
from legato.engines.tone import tone
from legato.errors import MalformedMessage, SessionExpired, UnexpectedMessage, UnknownVoice
from legato.flow.sentences import Segmenter
from legato.protocol.messages import Continuation, Notice, StreamEnd
from legato.speech import SynthesisRequest
from legato.worker.cache import SpeechCache
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.routing import Router
from legato.worker.synthesis import Synthesis
from legato.worker.takeover import Standing, first_standing, read_standing
from tests.unit.worker.stage import TONE, Running, Stage, eventually, small_bus

AUDIO = AudioFormat(16_000)
SENTENCES = "One two three. Four five six, seven eight nine. Ten! "


def spoken(text: str, audio: AudioFormat = AUDIO) -> bytes:
    """What the tone engine makes of a text, segment by segment."""
    segmenter = Segmenter()
    segments = segmenter.feed(text) + segmenter.flush()
    return b"".join(tone(char, audio, 0.05) for s in segments for char in s.text)


def synthesis(
    stage: Stage,
    router: Router,
    standing: Standing | None = None,
    *,
    fence: int = 1,
    idle_release: float = 60,
) -> Synthesis:
    standing = standing or Standing()
    audio = AudioFormat(stage.start.sample_rate, stage.start.channels)
    writer = stage.bus.logs.writer(stage.key, Direction.DOWN, fence=fence)
    return Synthesis(
        stage.job,
        logs=stage.bus.logs,
        down=DownLog(writer, audio=audio, frame_ms=stage.start.frame_ms, standing=standing),
        standing=standing,
        router=router,
        cache=SpeechCache(0),
        config=WorkerConfig(max_text_chars=100, idle_release=idle_release),
        clock=asyncio.get_running_loop().time,
    )


async def work(stage: Stage, say: Callable[[Stage], None], **more: object) -> Stage:
    """Have the client say everything, then a worker do it."""
    say(stage)
    async with Running(TONE) as pools:
        await asyncio.wait_for(synthesis(stage, Router(pools)).run(), 20)
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    return stage


async def working(stage: Stage, follow: Callable[[Stage], Awaitable[None]]) -> Stage:
    """Have a worker work while the client does as `follow` says."""
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await follow(stage)
        await asyncio.wait_for(task, 20)
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    return stage


async def test_text_becomes_the_engines_audio() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text(SENTENCES)
        stage.end()

    await work(stage, say)
    assert stage.pcm() == spoken(SENTENCES)
    (end,) = stage.ends
    assert (end.reason, end.utterance) == ("done", 0)
    assert stage.frames[-1].last
    samples = len(stage.pcm()) // 2
    assert stage.last_word == StreamEnd(
        seq=end.seq + 1 if end.seq else None, frames=len(stage.frames), samples=samples
    )
    assert [f.sample for f in stage.frames] == [320 * i for i in range(len(stage.frames))]


async def test_a_text_in_pieces_sounds_like_the_whole() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text(*SENTENCES)
        stage.end()

    await work(stage, say)
    assert stage.pcm() == spoken(SENTENCES)


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (22_050, 1), (48_000, 2)])
async def test_every_format_is_served(rate: int, channels: int) -> None:
    stage = await Stage.open("synthesize", sample_rate=rate, channels=channels)

    def say(stage: Stage) -> None:
        stage.text("Hello.")
        stage.end()

    await work(stage, say)
    assert stage.pcm() == spoken("Hello.", AudioFormat(rate, channels))


async def test_finalize_ends_one_utterance_and_opens_the_next() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("One.")
        stage.finalize()
        stage.finalize()
        stage.text("Two.")
        stage.end()

    await work(stage, say)
    assert [(end.utterance, end.reason) for end in stage.ends] == [(0, "done"), (1, "done")]
    assert (stage.pcm(0), stage.pcm(1)) == (spoken("One."), spoken("Two."))
    assert stage.ends[0].sample == len(stage.pcm(0)) // 2


async def test_flush_speaks_what_is_there_and_goes_on() -> None:
    stage = await Stage.open("synthesize")

    async def follow(stage: Stage) -> None:
        stage.text("One two ")
        stage.flush()
        await stage.until(lambda s: len(s.pcm()) >= len(spoken("One two")) - 640)
        assert stage.ends == []
        stage.text("three")
        stage.end()

    await working(stage, follow)
    assert stage.pcm() == spoken("One two") + spoken("three")
    assert len(stage.ends) == 1


async def test_text_is_committed_when_all_its_audio_is_in_the_log() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("One. ", "Two. ", "Three. ")
        stage.finalize()
        stage.end()

    await work(stage, say)
    written = 0
    for item in stage.down:
        written += len(getattr(item, "payload", b""))
        seq = getattr(item, "chars", None)
        if seq == len("One. "):
            assert written >= len(spoken("One."))
    last = stage.marks[-1]
    assert (last.seq, last.chars, last.restart) == (4, len("One. Two. Three. "), None)
    assert [mark.seq for mark in stage.marks] == sorted(mark.seq for mark in stage.marks)


async def test_the_whole_is_made_first_when_nothing_is_to_be_streamed() -> None:
    stage = await Stage.open("synthesize", streaming=False)

    async def follow(stage: Stage) -> None:
        stage.text("One. Two. Three. ")
        await stage.until(lambda s: s.marks or len(s.down) == 0)
        assert stage.frames == []
        stage.end()

    await working(stage, follow)
    assert stage.pcm() == spoken("One. Two. Three. ")


async def test_a_cancel_stops_the_utterance_and_frees_the_next() -> None:
    stage = await Stage.open("synthesize", bus=small_bus(20_000))

    async def follow(stage: Stage) -> None:
        stage.text("A long sentence that does not fit the log at all, not by far.")
        await stage.until(lambda s: len(s.frames) >= 10)
        stage.cancel(0)
        await stage.until(lambda s: s.ends)
        await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=1_000)
        stage.text("Next.")
        stage.end()

    await working(stage, follow)
    first, second = stage.ends
    assert (first.utterance, first.reason) == (0, "cancelled")
    assert not any(frame.last for frame in stage.frames if frame.utterance == 0)
    assert first.sample == len(stage.pcm(0)) // 2
    assert (second.utterance, second.reason) == (1, "done")
    assert stage.pcm(1) == spoken("Next.")


async def test_a_cancel_reaches_over_a_finalize() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("One.")
        stage.finalize()
        stage.text("Two.")
        stage.finalize()
        stage.text("Three.")
        stage.cancel(1)
        stage.end()

    await work(stage, say)
    assert [(end.utterance, end.reason) for end in stage.ends] == [
        (0, "cancelled"),
        (1, "cancelled"),
        (2, "done"),
    ]
    assert stage.pcm() == spoken("Three.")


async def test_a_cancel_of_what_is_over_or_not_begun_changes_nothing() -> None:
    stage = await Stage.open("synthesize")

    async def follow(stage: Stage) -> None:
        stage.cancel(0)
        stage.text("One.")
        stage.finalize()
        await stage.until(lambda s: s.ends)
        stage.cancel(0)
        stage.text("Two.")
        stage.cancel(0)
        stage.end()

    await working(stage, follow)
    assert [end.reason for end in stage.ends] == ["done", "done"]
    assert stage.marks[-1].seq == stage.seq - 1


async def test_text_of_the_cancelled_utterance_that_comes_before_the_cancel_is_dropped() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("One. ", "Two. ", "Three. ")
        stage.cancel(0)
        stage.end()

    await work(stage, say)
    assert stage.pcm() == b""
    assert stage.marks[-1].chars == len("One. Two. Three. ")


@pytest.mark.parametrize("text", ["", "   ", "...", "😀 !?"])
async def test_an_utterance_with_nothing_to_say_fails_and_says_so(text: str) -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text(text)
        stage.finalize()
        stage.text("Then.")
        stage.end()

    await work(stage, say)
    failed, done = stage.ends
    assert (failed.reason, failed.code) == ("failed", "unsupported_text")
    assert "nothing to say" in (failed.message or "")
    assert done.reason == "done"
    assert stage.pcm(1) == spoken("Then.")


async def test_signs_between_words_are_no_fault() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("Hello. ... 😀 ")
        stage.end()

    await work(stage, say)
    assert stage.ends[0].reason == "done"
    assert stage.pcm() != b""


async def test_too_long_an_utterance_fails_alone() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("word " * 15, "word " * 15, "and more")
        stage.finalize()
        stage.text("Short.")
        stage.end()

    await work(stage, say)
    failed, done = stage.ends
    assert (failed.reason, failed.code) == ("failed", "text_too_long")
    assert done.reason == "done"
    assert stage.pcm(1) == spoken("Short.")


async def test_a_failed_utterance_may_still_be_cancelled() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("word " * 30)
        stage.flush()
        stage.cancel(0)
        stage.text("Short.")
        stage.end()

    await work(stage, say)
    assert [(end.utterance, end.reason) for end in stage.ends] in (
        [(0, "failed"), (1, "done")],
        [(0, "cancelled"), (1, "done")],
    )


async def test_an_engines_refusal_of_the_voice_ends_the_stream() -> None:
    stage = await Stage.open("synthesize", voice="nobody")
    stage.text("Hello.")
    stage.end()
    async with Running(TONE) as pools:
        with pytest.raises(UnknownVoice):
            await synthesis(stage, Router(pools)).run()


async def test_audio_is_not_what_a_synthesis_takes() -> None:
    stage = await Stage.open("synthesize")
    stage.audio(bytes(640))
    async with Running(TONE) as pools:
        with pytest.raises(UnexpectedMessage):
            await synthesis(stage, Router(pools)).run()


async def interrupted(stage: Stage, frames: int) -> Standing:
    """Have a worker work until it has written `frames` frames, stop it, and read the log."""
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: len(s.frames) >= frames)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return await read_standing(stage.bus.logs, stage.key, 2)


@pytest.mark.parametrize("log_bytes", [30_000, 45_000, 60_000, 100_000, 140_000])
@pytest.mark.parametrize("streaming", [True, False])
async def test_another_worker_goes_on_sample_for_sample(log_bytes: int, streaming: bool) -> None:
    whole = await Stage.open("synthesize", streaming=streaming)

    def say(stage: Stage) -> None:
        stage.text("One two three. ", "Four five six, seven ", "eight nine. Ten!")
        stage.finalize()
        stage.text("Eleven. Twelve.")
        stage.end()

    await work(whole, say)

    # The first worker stops where the log is full.
    stage = await Stage.open("synthesize", bus=small_bus(log_bytes), streaming=streaming)
    say(stage)
    standing = await interrupted(stage, 1)
    assert not standing.over
    await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=stage.last_mark_entry - 1)
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools), standing, fence=2).run())
        await stage.drain()
        await task
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    assert stage.pcm() == whole.pcm()
    assert [(e.utterance, e.reason, e.sample) for e in stage.ends] == [
        (e.utterance, e.reason, e.sample) for e in whole.ends
    ]


async def test_another_worker_does_not_speak_again_what_failed() -> None:
    stage = await Stage.open("synthesize")
    stage.text("word " * 30)
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: s.ends)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        standing = await read_standing(stage.bus.logs, stage.key, 2)
        stage.text("more of the same")
        stage.finalize()
        stage.text("Next.")
        stage.end()
        await synthesis(stage, Router(pools), standing, fence=2).run()
    await stage.over()
    assert [(end.utterance, end.reason) for end in stage.ends] == [(0, "failed"), (1, "done")]
    assert stage.pcm() == spoken("Next.")


ONE_SLOT = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
LONG = "one two three four five six seven eight nine ten, and so on"


@pytest.mark.parametrize("streaming", [True, False])
async def test_audio_that_is_not_taken_frees_the_slot_and_loses_nothing(streaming: bool) -> None:
    stage = await Stage.open("synthesize", bus=small_bus(60_000), streaming=streaming)
    stage.text("Hello. ", LONG)
    stage.end()
    async with Running(ONE_SLOT) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools), idle_release=0.01).run())
        await stage.until(lambda s: len(s.pcm()) > 35_000)
        await eventually(lambda: pools[0].has_free_slot)
        await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=stage.last_mark_entry - 1)
        await stage.drain()
        await asyncio.wait_for(task, 20)
    assert stage.pcm() == spoken("Hello. " + LONG)
    assert stage.numbers() == list(range(len(stage.numbers())))


async def test_an_idle_stream_takes_no_slot() -> None:
    stage = await Stage.open("synthesize")
    async with Running(ONE_SLOT) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        stage.text("Hello.")
        stage.flush()
        await stage.until(lambda s: s.marks and s.marks[-1].restart)
        await eventually(lambda: pools[0].has_free_slot)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_stream_that_goes_while_its_worker_stops_leaves_no_complaint() -> None:
    complaints: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    stage = await Stage.open("synthesize", bus=small_bus(20_000))
    stage.text(LONG)
    stage.flush()
    async with Running(ONE_SLOT) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: len(s.pcm()) > 10_000)
        await stage.bus.logs.delete(stage.key)
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    del task
    gc.collect()
    assert complaints == []


async def test_a_stream_that_goes_while_it_waits_for_a_slot_leaves_the_line() -> None:
    stage = await Stage.open("synthesize")
    stage.text("Hello.")
    stage.flush()
    async with Running(ONE_SLOT) as pools:
        call = await pools[0].open(SynthesisRequest(format=AUDIO))
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: s.down)
        assert stage.down == [Notice(kind="queued", position=1, message="all slots are taken")]
        await stage.bus.logs.delete(stage.key)
        with pytest.raises(SessionExpired):
            await asyncio.wait_for(task, 5)
        call.close()


@pytest.mark.parametrize("held", [0, 320, 5_000, 12_345])
async def test_in_the_next_epoch_it_goes_on_at_the_very_sample(held: int) -> None:
    before = 7_000
    where = Continuation(epoch=1, utterance=3, utterance_sample=before, received_upto=before + held)
    stage = await Stage.open("synthesize", continues=where)
    stage.text(SENTENCES)
    stage.finalize()
    stage.text("Ten!")
    stage.end()
    async with Running(TONE) as pools:
        job = synthesis(stage, Router(pools), first_standing(stage.start))
        await asyncio.wait_for(job.run(), 20)
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    whole = spoken(SENTENCES)
    assert stage.pcm(3) == whole[2 * held :]
    assert stage.pcm(4) == spoken("Ten!")
    assert stage.frames[0].sample == before + held
    assert [(end.utterance, end.reason, end.sample) for end in stage.ends] == [
        (3, "done", before + len(whole) // 2),
        (4, "done", before + (len(whole) + len(spoken("Ten!"))) // 2),
    ]


@pytest.mark.parametrize("frames", [10, 30])
@pytest.mark.parametrize("held", [5_000, 12_345, 20_000])
async def test_another_worker_goes_on_in_the_next_epoch(frames: int, held: int) -> None:
    where = Continuation(epoch=1, received_upto=held)
    stage = await Stage.open("synthesize", bus=small_bus(65_000), continues=where)
    stage.text(SENTENCES)
    stage.end()
    async with Running(TONE) as pools:
        first = synthesis(stage, Router(pools), first_standing(stage.start))
        task = asyncio.create_task(first.run())
        await stage.until(lambda s: len(s.frames) >= frames)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        standing = await read_standing(
            stage.bus.logs, stage.key, 2, first=lambda: first_standing(stage.start)
        )
        await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=stage.last_mark_entry - 1)
        second = asyncio.create_task(synthesis(stage, Router(pools), standing, fence=2).run())
        await stage.drain()
        await second
    assert stage.numbers() == list(range(len(stage.numbers())))
    assert stage.pcm() == spoken(SENTENCES)[2 * held :]


# ── what is said of a text ──

DOCUMENT = (
    '<speak>One two. Three <break time="300ms"/><prosody rate="2">four</prosody> five.</speak>'
)


def document_pcm() -> bytes:
    fast = b"".join(tone(char, AUDIO, 0.025) for char in "four")
    silence = bytes(AUDIO.samples(0.3) * AUDIO.sample_bytes)
    return spoken("One two. Three") + silence + fast + spoken("five.")


async def test_ssml_is_spoken_at_the_end_of_its_utterance() -> None:
    stage = await Stage.open("synthesize", options={"markup": "ssml"})

    def say(stage: Stage) -> None:
        stage.text(DOCUMENT[:30])
        stage.flush()
        stage.text(DOCUMENT[30:])
        stage.finalize()
        stage.text("<speak>Ten</speak>")
        stage.end()

    await work(stage, say)
    assert stage.pcm(0) == document_pcm()
    assert stage.pcm(1) == spoken("Ten")
    assert [end.reason for end in stage.ends] == ["done", "done"]


async def test_ssml_that_cannot_be_followed_ends_its_utterance_only() -> None:
    stage = await Stage.open("synthesize", options={"markup": "ssml"})

    def say(stage: Stage) -> None:
        stage.text("<speak>One <audio/></speak>")
        stage.finalize()
        stage.text("<speak>Two</speak>")
        stage.end()

    await work(stage, say)
    assert [end.reason for end in stage.ends] == ["failed", "done"]
    assert stage.ends[0].code == "unsupported_text"
    assert "<audio> is not supported" in (stage.ends[0].message or "")
    assert stage.pcm() == spoken("Two")


@pytest.mark.parametrize("log_bytes", [20_000, 24_000, 32_000, 40_000])
async def test_another_worker_goes_on_in_ssml_sample_for_sample(log_bytes: int) -> None:
    options = {"markup": "ssml"}
    stage = await Stage.open("synthesize", bus=small_bus(log_bytes), options=options)
    stage.text(DOCUMENT[:50], DOCUMENT[50:])
    stage.end()
    standing = await interrupted(stage, 1)
    assert not standing.over
    await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=stage.last_mark_entry - 1)
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools), standing, fence=2).run())
        await stage.drain()
        await task
    await stage.over()
    assert stage.pcm() == document_pcm()


async def test_options_of_the_text_change_what_is_said() -> None:
    lexicon = {"Legato": "legahto"}
    options = {"strip": True, "lexicon": lexicon, "reading": "always"}
    stage = await Stage.open("synthesize", options=options)

    def say(stage: Stage) -> None:
        stage.text("**Legato** has 2 parts.")
        stage.end()

    await work(stage, say)
    assert stage.pcm() == spoken("legahto has two parts.")


async def test_without_options_an_engine_gets_what_was_written() -> None:
    stage = await Stage.open("synthesize")

    def say(stage: Stage) -> None:
        stage.text("**Legato** has 2 parts.")
        stage.end()

    await work(stage, say)
    assert stage.pcm() == spoken("**Legato** has 2 parts.")


async def test_a_stream_with_an_option_of_another_value_is_refused() -> None:
    stage = await Stage.open("synthesize", options={"markup": "html"})
    async with Running(TONE) as pools:
        with pytest.raises(MalformedMessage, match=r"options\.markup"):
            synthesis(stage, Router(pools))
