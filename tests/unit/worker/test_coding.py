"""Coding in the worker: what is said in Opus or mu-law, by one worker or two, and what is heard."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.bus.base import Direction, Item
from legato.client.decoding import decoder_for
from legato.codecs.g711 import law
from legato.codecs.opus import OpusEncoder
from legato.errors import BadAudio
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamEnd, SwitchUp, Transcript, UtteranceEnd
from legato.protocol.payloads import payload_format
from legato.worker.cache import SpeechCache
from legato.worker.coding import PacketCoder, PayloadDecoder, encoding
from legato.worker.config import WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.echo import Echo
from legato.worker.recognition import Recognition
from legato.worker.routing import Router
from legato.worker.synthesis import Synthesis
from legato.worker.takeover import Standing, read_standing
from tests.unit.worker.stage import TONE, TONE_RECOGNIZER, Running, Stage, small_bus
from tests.unit.worker.test_downlog import FakeWriter
from tests.unit.worker.test_synthesis import spoken

OPUS = PayloadFormat(16_000, 1, Codec.OPUS, 20)
LIKE = 0.75
"""Correlation above which two sounds are the same one, coded: tones up to 3 kHz, which one sample
too many or too few would spoil."""


def sine(seconds: float, frequency_hz: float = 440.0) -> bytes:
    at = np.arange(round(seconds * 16_000)) / 16_000
    wave: NDArray[np.float64] = np.rint(9_000 * np.sin(2 * np.pi * frequency_hz * at))
    return wave.astype("<i2").tobytes()


def samples(pcm: bytes) -> NDArray[np.float64]:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def likeness(pcm: bytes, other: bytes) -> float:
    return float(np.corrcoef(samples(pcm), samples(other))[0, 1])


def down_of(stage: Stage, standing: Standing, fence: int = 1) -> DownLog:
    payload = payload_format(stage.start)
    return DownLog(
        stage.bus.logs.writer(stage.key, Direction.DOWN, fence=fence),
        audio=payload.pcm,
        frame_ms=payload.frame_ms,
        standing=standing,
        codec=payload.codec,
    )


def synthesis(
    stage: Stage, router: Router, standing: Standing | None = None, fence: int = 1
) -> Synthesis:
    standing = standing or Standing()
    return Synthesis(
        stage.job,
        logs=stage.bus.logs,
        down=down_of(stage, standing, fence),
        standing=standing,
        router=router,
        cache=SpeechCache(0),
        config=WorkerConfig(max_text_chars=1_000),
        clock=asyncio.get_running_loop().time,
    )


async def say(stage: Stage, *texts: str) -> Stage:
    for text in texts:
        stage.text(text)
        stage.finalize()
    stage.end()
    async with Running(TONE) as pools:
        await asyncio.wait_for(synthesis(stage, Router(pools)).run(), 20)
    await stage.over()
    return stage


def numbers(stage: Stage) -> list[int]:
    numbered = (AudioFrame, SwitchUp, UtteranceEnd, StreamEnd)
    return [item.seq or 0 for item in stage.down if isinstance(item, numbered)]


def decoded(stage: Stage, utterance: int | None = None) -> bytes:
    """What a client makes of the down log, every sample in its place."""
    decoder = decoder_for(payload_format(stage.start))
    pcm, sample = b"", 0
    for item in stage.down:
        if not isinstance(item, AudioFrame | SwitchUp | UtteranceEnd):
            continue
        if isinstance(item, UtteranceEnd) and item.reason == "cancelled":
            sample = item.sample
        for heard in decoder.take(item):
            if isinstance(heard, AudioFrame):
                assert heard.sample == sample
                sample += len(heard.payload) // 2
                if utterance in (None, heard.utterance):
                    pcm += heard.payload
    return pcm


# said


@pytest.mark.parametrize("codec", [Codec.MULAW, Codec.ALAW])
async def test_telephony_is_the_pcm_sample_for_sample(codec: Codec) -> None:
    stage = await say(await Stage.open("synthesize", codec=codec.value), "One two three.")
    assert stage.pcm() == law(codec).encode(spoken("One two three."))
    assert stage.ends[0].sample == len(stage.pcm())
    assert {len(frame.payload) for frame in stage.frames[:-1]} == {320}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("frame_ms", [10, 20, 40, 60])
async def test_what_is_said_in_opus_has_every_sample(frame_ms: int, *, streaming: bool) -> None:
    stage = await Stage.open("synthesize", codec="opus", frame_ms=frame_ms, streaming=streaming)
    text = "One two three. Four five six, seven."
    await say(stage, text)
    pcm = decoded(stage)
    assert len(pcm) == len(spoken(text))
    assert likeness(pcm, spoken(text)) > LIKE
    assert stage.ends[0].sample == len(pcm) // 2
    assert numbers(stage) == list(range(len(numbers(stage))))
    assert [frame.last for frame in stage.frames].count(True) == 1
    assert stage.frames[-1].last


async def test_every_utterance_has_an_encoder_and_says_so() -> None:
    stage = await say(await Stage.open("synthesize", codec="opus"), "One.", "Two three.")
    switches = [item for item in stage.down if isinstance(item, SwitchUp)]
    first, second = stage.ends
    assert [(s.rung, s.sample, s.reset) for s in switches] == [
        ("opus-24", 0, True),
        ("opus-24", first.sample, True),
    ]
    assert second.sample == len(spoken("One.") + spoken("Two three.")) // 2
    assert likeness(decoded(stage, 1), spoken("Two three.")) > LIKE
    alone = await say(await Stage.open("synthesize", codec="opus"), "One.")
    assert [f.payload for f in stage.frames if f.utterance == 0] == [
        frame.payload for frame in alone.frames
    ]


async def test_a_bitrate_is_kept_to() -> None:
    sizes = []
    for bitrate in (8_000, 32_000):
        stage = await Stage.open("synthesize", codec="opus")
        down = DownLog(
            stage.bus.logs.writer(stage.key, Direction.DOWN, fence=1),
            audio=AudioFormat(16_000),
            frame_ms=20,
            standing=Standing(),
            codec=Codec.OPUS,
            bitrate=bitrate,
        )
        rng = np.random.default_rng(1)
        await down.say(rng.integers(-9_000, 9_000, 32_000).astype("<i2").tobytes())
        down.end_utterance()
        down.write()
        await stage.until(lambda s: s.ends)
        sizes.append(sum(len(frame.payload) for frame in stage.frames))
    assert sizes[0] < 3_000
    assert 5_000 < sizes[1] < 11_000


@pytest.mark.parametrize("log_bytes", [30_000, 40_000, 50_000])
async def test_another_worker_goes_on_with_an_encoder_of_its_own(log_bytes: int) -> None:
    texts = ("One two three. " * 12, "Eleven. Twelve.")
    whole = await say(await Stage.open("synthesize", codec="opus", frame_ms=10), *texts)
    stage = await Stage.open("synthesize", bus=small_bus(log_bytes), codec="opus", frame_ms=10)
    for text in texts:
        stage.text(text)
        stage.finalize()
    stage.end()
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: len(s.frames) >= 40)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        standing = await read_standing(
            stage.bus.logs, stage.key, OPUS.sample_bytes, packet_samples=160
        )
        assert standing.sounding
        before, stood = len(stage.down), standing.sample
        task = asyncio.create_task(synthesis(stage, Router(pools), standing, fence=2).run())
        await stage.drain()
        await task
    await stage.over()
    announced = [item for item in stage.down[before:] if isinstance(item, SwitchUp)]
    assert announced[0].sample == stood > 0
    assert numbers(stage) == list(range(len(numbers(stage))))
    assert [(e.reason, e.sample) for e in stage.ends] == [(e.reason, e.sample) for e in whole.ends]
    pcm = decoded(stage)
    assert len(pcm) == len(decoded(whole))
    assert likeness(pcm, spoken(texts[0]) + spoken(texts[1])) > LIKE


async def test_after_a_cancel_the_next_utterance_has_an_encoder_of_its_own() -> None:
    stage = await Stage.open("synthesize", bus=small_bus(30_000), codec="opus", frame_ms=10)
    stage.text("One two three. " * 40)
    stage.finalize()
    async with Running(TONE) as pools:
        task = asyncio.create_task(synthesis(stage, Router(pools)).run())
        await stage.until(lambda s: len(s.frames) >= 20)
        stage.cancel(0)
        stage.text("Next.")
        stage.end()
        await stage.drain()
        await asyncio.wait_for(task, 20)
    cancelled, done = stage.ends
    assert (cancelled.reason, done.reason) == ("cancelled", "done")
    assert done.sample - cancelled.sample == len(spoken("Next.")) // 2
    assert numbers(stage) == list(range(len(numbers(stage))))
    assert likeness(decoded(stage, 1), spoken("Next.")) > LIKE


# the pen


def pen(writer: FakeWriter, standing: Standing | None = None) -> DownLog:
    return DownLog(
        writer,
        audio=AudioFormat(16_000),
        frame_ms=20,
        standing=standing or Standing(),
        codec=Codec.OPUS,
    )


def kinds(items: Sequence[Item]) -> list[str]:
    return [type(item).__name__ for item in items]


async def test_an_encoder_may_be_asked_for_its_rest_ahead_of_the_end() -> None:
    ends = []
    for ahead in (True, False):
        writer = FakeWriter()
        down = pen(writer)
        await down.say(sine(0.05))
        assert down.is_behind
        if ahead:
            await down.finish()
            assert not down.is_behind
        down.end_utterance()
        down.end_stream()
        down.write()
        assert kinds(writer.items) == ["SwitchUp", *["AudioFrame"] * 3, "UtteranceEnd", "StreamEnd"]
        ends.append(writer.items)
    assert ends[0] == ends[1]
    assert ends[0][-2] == UtteranceEnd(seq=4, utterance=0, reason="done", sample=800)
    assert ends[0][-1] == StreamEnd(seq=5, frames=None, samples=800)


async def test_an_utterance_that_was_written_whole_ends_with_an_empty_frame() -> None:
    writer = FakeWriter()
    down = pen(writer, Standing(seq=3, sample=640, sounding=True))
    down.end_utterance()
    down.write()
    assert writer.items == [
        AudioFrame(b"", 3, True, sample=640),
        UtteranceEnd(seq=4, utterance=0, reason="done", sample=640),
    ]


async def test_a_silent_utterance_of_opus_has_no_frame() -> None:
    writer = FakeWriter()
    down = pen(writer)
    down.end_utterance()
    down.write()
    assert kinds(writer.items) == ["UtteranceEnd"]


async def test_what_an_encoder_holds_of_a_cancelled_utterance_is_gone() -> None:
    writer = FakeWriter()
    down = pen(writer)
    await down.say(sine(0.05))
    await down.finish()
    down.end_utterance("cancelled")
    await down.say(sine(0.02))
    down.end_utterance()
    down.write()
    first, second = (item for item in writer.items if isinstance(item, UtteranceEnd))
    assert (first.sample, second.sample) == (640, 960)


async def test_pcm_has_nothing_to_finish() -> None:
    writer = FakeWriter()
    down = DownLog(writer, audio=AudioFormat(16_000), frame_ms=20, standing=Standing())
    await down.say(bytes(100))
    assert not down.is_behind
    await down.finish()
    down.end_utterance()
    down.write()
    assert writer.items[0] == AudioFrame(bytes(100), 0, True)


async def test_coding_is_done_in_a_thread_of_its_own() -> None:
    names: list[str] = []

    class Watched(PacketCoder):
        def _push(self, encoder: OpusEncoder | None, pcm: bytes) -> tuple[OpusEncoder, list[bytes]]:
            names.append(threading.current_thread().name)
            return super()._push(encoder, pcm)

    await Watched(OPUS, 24_000).push(sine(0.1))
    assert names[0].startswith("legato-codec")


async def test_coding_that_is_cancelled_leaves_nothing_in_the_next_utterance() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    class Slow(PacketCoder):
        def _push(self, encoder: OpusEncoder | None, pcm: bytes) -> tuple[OpusEncoder, list[bytes]]:
            begun.set()
            assert go.wait(10)
            coded = super()._push(encoder, pcm)
            done.set()
            return coded

    coder = Slow(OPUS, 24_000)
    coding = asyncio.create_task(coder.push(sine(0.1)))
    assert await asyncio.to_thread(begun.wait, 10)
    coding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await coding
    coder.renew()
    go.set()
    assert await asyncio.to_thread(done.wait, 10)
    fresh = PacketCoder(OPUS, 24_000)
    assert await coder.push(sine(0.3)) == await fresh.push(sine(0.3))


def test_samples_are_coded_one_by_one_where_the_codec_does() -> None:
    assert encoding(Codec.PCM_S16LE) is None
    assert encoding(Codec.OPUS) is None
    mulaw = encoding(Codec.MULAW)
    assert mulaw is not None
    assert mulaw(bytes(4)) == b"\xff\xff"


# heard


def recognition(stage: Stage, pool: object) -> Recognition:
    standing = Standing()
    return Recognition(
        stage.job,
        logs=stage.bus.logs,
        down=down_of(stage, standing),
        standing=standing,
        pool=pool,  # type: ignore[arg-type]  # of a test
        idle_release=60,
        clock=asyncio.get_running_loop().time,
    )


async def hear(codec: Codec, payloads: Sequence[bytes]) -> Stage:
    stage = await Stage.open("recognize", codec=codec.value)
    for payload in payloads:
        stage.audio(payload)
    stage.end()
    async with Running(TONE_RECOGNIZER) as (pool,):
        await asyncio.wait_for(recognition(stage, pool).run(), 20)
    await stage.over()
    return stage


async def test_what_is_heard_is_decoded_and_counted_in_samples() -> None:
    pcm = sine(1.0)
    encoder = OpusEncoder(OPUS, 24_000)
    packets = encoder.push(pcm) + encoder.finish()
    for codec, payloads in (
        (Codec.PCM_S16LE, [pcm[at : at + 640] for at in range(0, len(pcm), 640)]),
        (
            Codec.MULAW,
            [law(Codec.MULAW).encode(pcm[at : at + 640]) for at in range(0, len(pcm), 640)],
        ),
        (Codec.OPUS, packets),
    ):
        stage = await hear(codec, payloads)
        final = stage.finals[-1]
        assert isinstance(final, Transcript)
        assert (final.start, final.end) == (0, 16_000)
        assert stage.marks[-1].upto == 16_000


async def test_every_payload_becomes_its_samples_exactly() -> None:
    pcm = sine(0.5)
    encoder = OpusEncoder(OPUS, 24_000)
    packets = encoder.push(pcm) + encoder.finish()
    decoder = PayloadDecoder(OPUS)
    pieces = [await decoder.decode(packet) for packet in packets]
    assert {len(piece) for piece in pieces} == {640}
    assert await decoder.decode(b"") == b""
    late = 32  # at most 2.1 ms: what the resampler holds back
    whole = b"".join(pieces)
    best = max(likeness(whole[2 * lag :], pcm[: len(pcm) - 2 * lag]) for lag in range(late))
    assert best > LIKE
    decoder.renew()
    assert len(await decoder.decode(packets[5])) == 640


async def test_pcm_is_heard_as_it_is() -> None:
    pcm = sine(0.02)
    assert await PayloadDecoder(PayloadFormat(16_000)).decode(pcm) is pcm


async def test_a_packet_of_nonsense_is_bad_audio() -> None:
    with pytest.raises(BadAudio):
        await PayloadDecoder(OPUS).decode(bytes([9 << 3 | 3, 0, 1, 2]))


# echoed


async def test_packets_come_back_as_they_came() -> None:
    stage = await Stage.open("echo", codec="opus")
    packets = [bytes([9 << 3, number]) for number in range(25)]
    for packet in packets:
        stage.audio(packet)
    stage.audio(b"")
    stage.end()
    writer = stage.bus.logs.writer(stage.key, Direction.DOWN, fence=1)
    echo = Echo(stage.job, logs=stage.bus.logs, writer=writer, standing=Standing())
    await asyncio.wait_for(echo.run(), 20)
    await stage.over()
    assert [frame.payload for frame in stage.frames] == [*packets, b""]
    assert [frame.sample for frame in stage.frames] == [320 * n for n in range(26)]
    assert stage.ends[0].sample == 25 * 320
