"""What a listener hears at the joints of real engines, and what is said a second time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat, to_float
from legato.bus.base import StreamKey
from legato.bus.erasure import erase_stream
from legato.bus.memory import MemoryBus
from legato.engines.base import EngineInfo, EngineKind
from legato.speech import SynthesisRequest
from legato.speech.sound.edges import LEAD, STEP
from legato.speech.sound.loudness import TARGET_LUFS, loudness
from legato.speech.sound.treatment import SENTENCE_PAUSE, Treated, Treatment
from legato.telemetry.metrics import REGISTRY
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess
from legato.worker.runner import Worker
from legato.worker.sound import SoundOptions, treatment_of
from tests.unit.worker.stage import Stage, eventually

pytestmark = pytest.mark.integration

ENGLISH = (
    "No!",
    "The train leaves at seven thirty from platform nine, and it will be late.",
    "Pardon? Thank you for listening to all of this.",
    "Yes, and that was it.",
)
CHINESE = ("你好，今天天气很好。", "火车七点半从九号站台出发。", "不，对不起，请稍等一下。")


@dataclass(frozen=True)
class Said:
    """Segments of one voice, each as it is sent."""

    form: AudioFormat
    pieces: tuple[bytes, ...]

    @property
    def joined(self) -> NDArray[np.float32]:
        """The first channel of it all."""
        return to_float(b"".join(self.pieces), self.form.channels).reshape(-1, self.form.channels)[
            :, 0
        ]

    def clicks(self) -> list[float]:
        """The largest jump within 0.3 ms of each joint, against that of the speech around it."""
        jumps = np.abs(np.diff(self.joined))
        ends = np.cumsum([self.form.samples_in(piece) for piece in self.pieces])[:-1]
        near, far = self.form.samples(0.0003), self.form.samples(1.0)
        return [
            float(jumps[end - near : end + near].max() / jumps[max(end - far, 0) : end + far].max())
            for end in ends
        ]


@asynccontextmanager
async def engine(name: str) -> AsyncIterator[tuple[EngineProcess, EngineInfo]]:
    process = EngineProcess(EngineSpec(kind=EngineKind.SYNTHESIZE, name=name), WorkerConfig())
    info = await process.start()
    try:
        yield process, info
    finally:
        await process.stop()


async def speak(
    process: EngineProcess,
    texts: Sequence[str],
    request: SynthesisRequest,
) -> Said:
    pieces = []
    for text in texts:
        call = process.open(request)
        await call.feed(text)
        call.end()
        pieces.append(b"".join([one.pcm async for one in call if isinstance(one, Sound)]))
        await eventually(lambda: process.calls.free > 0)
    return Said(request.format, tuple(pieces))


def with_treatment(
    info: EngineInfo, form: AudioFormat, voice: str | None = None
) -> SynthesisRequest:
    request = SynthesisRequest(format=form, voice=voice)
    treatment = treatment_of(SoundOptions(), info, request, said={})
    assert treatment is not None
    return SynthesisRequest(format=form, voice=voice, treatment=treatment)


FORMS = (AudioFormat(24_000), AudioFormat(48_000, 2), AudioFormat(8_000))


@pytest.mark.parametrize(
    ("name", "voice", "texts"),
    [
        ("hibari", None, ENGLISH),
        pytest.param(
            "espeak", "en-us", ENGLISH, marks=pytest.mark.requires("espeak-ng"), id="espeak-en"
        ),
        pytest.param(
            "espeak", "cmn", CHINESE, marks=pytest.mark.requires("espeak-ng"), id="espeak-zh"
        ),
    ],
)
async def test_segments_are_equally_loud_and_joined_without_a_click_or_a_gap(
    name: str, voice: str | None, texts: Sequence[str]
) -> None:
    async with engine(name) as (process, info):
        for form in FORMS:
            said = await speak(process, texts, with_treatment(info, form, voice))
            assert max(said.clicks()) < 0.02
            levels = [loudness(piece, form) for piece in said.pieces]
            both = 10 * np.log10(form.channels)  # by so much two channels are louder than one
            assert np.mean(levels) - both == pytest.approx(TARGET_LUFS, abs=2.0)
            assert max(levels) - min(levels) < 4.0
            for piece in said.pieces:
                lead, tail = silence_around(piece, form)
                assert lead <= LEAD + STEP
                assert tail <= SENTENCE_PAUSE + STEP


def silence_around(pcm: bytes, form: AudioFormat) -> tuple[float, float]:
    """Seconds below -58 dBFS at the two ends."""
    audio = to_float(pcm, form.channels).reshape(-1, form.channels)[:, 0]
    step = form.samples(STEP)
    steps = audio[: len(audio) - len(audio) % step].reshape(-1, step)
    loud = np.flatnonzero(np.sqrt(np.square(steps).mean(axis=1)) > 10 ** (-58 / 20))
    return float(loud[0] * STEP), float((len(steps) - 1 - loud[-1]) * STEP)


async def test_speech_that_breaks_off_within_a_word_clicks_unless_it_is_treated() -> None:
    form = AudioFormat(24_000)
    async with engine("hibari") as (process, _):
        whole = await speak(process, ENGLISH, SynthesisRequest(format=form))
    cut = []
    for piece in whole.pieces:
        loudest = int(np.argmax(np.abs(to_float(piece))))
        cut.append(piece[2 * loudest - 4_800 : 2 * loudest])
    assert min(Said(form, tuple(cut)).clicks()) > 0.3
    treated = []
    for piece in cut:
        one = Treated(Treatment(), form)
        treated.append(one.push(piece) + one.end())
    assert max(Said(form, tuple(treated)).clicks()) < 0.05


@pytest.mark.requires("espeak-ng")
async def test_conversion_to_a_higher_rate_adds_no_image_at_joints() -> None:
    form = AudioFormat(48_000, 2)
    async with engine("espeak") as (process, info):
        said = await speak(process, ENGLISH, with_treatment(info, form))
    spectrum = np.square(np.abs(np.fft.rfft(said.joined.astype(np.float64))))
    hz = np.fft.rfftfreq(len(said.joined), 1 / form.sample_rate)
    assert spectrum[hz > 11_500].sum() < 1e-5 * spectrum[hz < 11_000].sum()
    both = to_float(b"".join(said.pieces), 2)
    assert (both[:, 0] == both[:, 1]).all()


HIBARI = EngineSpec(kind=EngineKind.SYNTHESIZE, name="hibari")
TEXT = " ".join(ENGLISH)


@asynccontextmanager
async def worker(bus: MemoryBus, cache_bytes: int) -> AsyncIterator[Worker]:
    config = WorkerConfig(engines=(HIBARI,), cache_bytes=cache_bytes, claim_wait=0.1, lease=1.0)
    async with Worker(bus, config) as one:
        await one.wait_ready()
        yield one


async def begun(bus: MemoryBus, name: str, **fields: object) -> Stage:
    stage = await Stage.open(
        "synthesize", bus=bus, engine="hibari", stream_id=name, sample_rate=24_000, **fields
    )
    await bus.jobs.submit(stage.job)
    return stage


async def heard(bus: MemoryBus, name: str, **fields: object) -> bytes:
    stage = await begun(bus, name, **fields)
    stage.text(TEXT)
    stage.end()
    await stage.over()
    return stage.pcm()


def hits() -> float:
    return REGISTRY.get_sample_value("legato_cached_speech_total", {"outcome": "hit"}) or 0.0


@pytest.mark.parametrize("cache_bytes", [0, 1 << 24])
async def test_a_worker_that_takes_over_repeats_every_treated_sample(cache_bytes: int) -> None:
    bus = MemoryBus()
    async with worker(bus, cache_bytes) as first:
        whole = await heard(bus, "whole")
        stage = await begun(bus, "cut")
        for word in TEXT.split(" ")[:12]:
            stage.text(word + " ")
        stage.flush()
        await stage.until(lambda one: len(one.pcm()) > 60_000)
        await first.stop()
    async with worker(bus, cache_bytes):
        stage.text(" ".join(TEXT.split(" ")[12:]))
        stage.end()
        await stage.over()
        plain = await begun(bus, "plain")
        for word in TEXT.split(" ")[:12]:
            plain.text(word + " ")
        plain.flush()
        plain.text(" ".join(TEXT.split(" ")[12:]))
        plain.end()
        await plain.over()
        assert stage.pcm() == plain.pcm()
        assert await heard(bus, "again") == whole


async def test_what_was_said_before_comes_from_memory_until_it_is_forgotten() -> None:
    bus = MemoryBus()
    async with worker(bus, 1 << 24):
        before = hits()
        first = await heard(bus, "one")
        assert hits() == before
        assert await heard(bus, "two") == first
        assert hits() - before >= len(ENGLISH)
        at = hits()
        assert await heard(bus, "three", options={"cache": False}) == first
        assert hits() == at
        await erase_stream(bus, StreamKey("default", "one"))
        await asyncio.sleep(1.2)
        assert await heard(bus, "four") == first
        assert hits() == at
