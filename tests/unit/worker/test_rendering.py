import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

import pytest

from legato.audio import AudioFormat
from legato.bus.base import Direction, Job
from legato.engines.base import EngineInfo, EngineKind
from legato.errors import EngineFailed, MalformedMessage
from legato.speech import SynthesisRequest, Voice
from legato.speech.scripts import Script
from legato.worker.cache import SpeechCache
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.frames import Heard, Sound
from legato.worker.line import Queued
from legato.worker.measure import SlotMeasure
from legato.worker.pace import Pace
from legato.worker.pool import EnginePool, PoolState
from legato.worker.rendering import Rendering
from legato.worker.routing import Router
from legato.worker.script import Line, text_options
from legato.worker.takeover import Standing
from legato.worker.turns import Caller
from tests.unit.worker.stage import Stage

MONO = AudioFormat(16_000)
PCM = [b"\1\0" * 5_000, b"\2\0" * 3_000]


class FakeCall:
    """Says the same whatever it is given, and may break off."""

    def __init__(self, breaks: bool) -> None:
        self.fed: list[str] = []
        self.ended = self.closed = False
        self._breaks = breaks
        self._left = list(PCM)

    async def feed(self, piece: str) -> None:
        self.fed.append(piece)

    def end(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True

    def __aiter__(self) -> "FakeCall":
        return self

    async def __anext__(self) -> Sound | Heard:
        if not self._left:
            raise StopAsyncIteration
        if self._breaks and len(self._left) < len(PCM):
            raise EngineFailed("it broke")
        return Sound(0, self._left.pop(0))


@dataclass
class FakePool:
    """The port of a pool: one engine, whose calls are kept."""

    name: str
    scripts: frozenset[Script] = frozenset()
    breaks: bool = False
    measure: SlotMeasure = field(default_factory=lambda: SlotMeasure(1.0))
    asked: list[SynthesisRequest] = field(default_factory=list)
    calls: list[FakeCall] = field(default_factory=list)
    state: PoolState = PoolState.READY

    def __post_init__(self) -> None:
        self.spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name=self.name)
        self.info = EngineInfo(
            name=self.name,
            kind=EngineKind.SYNTHESIZE,
            version="1",
            format=MONO,
            scripts=self.scripts,
            voices=(Voice(name="v", engine=self.name, loudness_lufs=-23.0),),
        )

    async def open(self, request: SynthesisRequest, *, caller: Caller, queued: Queued) -> FakeCall:
        self.asked.append(request)
        self.calls.append(FakeCall(self.breaks))
        return self.calls[-1]


async def rendering(
    *pools: FakePool,
    cache: SpeechCache | None = None,
    seed: int = 0,
    options: dict[str, object] | None = None,
) -> Rendering:
    stage = await Stage.open("synthesize", options=options or {}, voice="v")
    standing = Standing()
    writer = stage.bus.logs.writer(stage.key, Direction.DOWN)
    job = Job(key=stage.key, engine=pools[0].name, start=stage.start, seed=seed)
    clock = asyncio.get_running_loop().time
    return Rendering(
        job,
        MONO,
        text_options(stage.start, {}),
        down=DownLog(writer, audio=MONO, frame_ms=20, standing=standing),
        pace=Pace("default", clock),
        router=Router(cast("Sequence[EnginePool]", pools)),
        cache=SpeechCache(1 << 20) if cache is None else cache,
        config=WorkerConfig(loudness={"other": -30.0}),
    )


async def said(one: Rendering, text: str = "Hello.", at: int = 0) -> bytes:
    line = Line(text, at, at + len(text))
    return b"".join([pcm async for pcm in one.speak(line)])


async def test_the_same_line_takes_no_slot_the_second_time() -> None:
    pool = FakePool("slow")
    one = await rendering(pool)
    assert await said(one) == b"".join(PCM)
    assert await said(one, at=70) == b"".join(PCM)
    assert len(pool.calls) == 1
    assert (pool.calls[0].fed, pool.calls[0].ended, pool.calls[0].closed) == (
        ["Hello."],
        True,
        True,
    )
    assert not one.has_slot


async def test_another_stream_of_the_tenant_hears_it_too() -> None:
    pool, cache = FakePool("slow"), SpeechCache(1 << 20)
    await said(await rendering(pool, cache=cache))
    await said(await rendering(pool, cache=cache))
    assert len(pool.calls) == 1
    await said(await rendering(pool, cache=cache, seed=5))
    assert len(pool.calls) == 2


async def test_what_comes_from_the_cache_can_be_cancelled_between_pieces() -> None:
    pool = FakePool("slow")
    one = await rendering(pool)
    await said(one)
    async with aclosing(one.speak(Line("Hello.", 0, 6))) as pieces:
        first = await anext(pieces)
        assert len(first) == MONO.frame_bytes(0.2)
        assert not one.has_slot


@pytest.mark.parametrize("options", [{"cache": False}, {"cache": False, "sound": {"trim": False}}])
async def test_a_stream_may_do_without(options: dict[str, object]) -> None:
    pool, cache = FakePool("slow"), SpeechCache(1 << 20)
    one = await rendering(pool, cache=cache, options=options)
    await said(one)
    await said(one)
    assert len(pool.calls) == 2
    assert len(cache) == 0


async def test_what_breaks_off_is_not_kept() -> None:
    pool, cache = FakePool("slow", breaks=True), SpeechCache(1 << 20)
    one = await rendering(pool, cache=cache)
    with pytest.raises(EngineFailed):
        await said(one)
    assert len(cache) == 0
    assert pool.calls[0].closed


async def test_what_is_cancelled_is_not_kept_and_its_slot_is_free() -> None:
    pool, cache = FakePool("slow"), SpeechCache(1 << 20)
    one = await rendering(pool, cache=cache)
    held = []
    async with aclosing(one.speak(Line("Hello.", 0, 6))) as pieces:
        for pcm in PCM:
            assert await anext(pieces) == pcm
            held.append(one.has_slot)
    held.append(one.has_slot)
    assert held == [True, True, False]
    assert len(cache) == 0
    assert pool.calls[0].closed


async def test_a_text_is_drawn_from_the_same_seed_wherever_it_stands() -> None:
    pool = FakePool("slow")
    one = await rendering(pool, cache=SpeechCache(0))
    for text, at in (("Hello.", 0), ("Hello.", 90), ("Goodbye.", 0)):
        await said(one, text, at)
    await said(await rendering(pool, cache=SpeechCache(0), seed=9))
    hello, again, goodbye, other = (request.seed for request in pool.asked)
    assert hello == again
    assert len({hello, goodbye, other}) == 3


async def test_options_of_ours_never_reach_an_engine() -> None:
    pool = FakePool("slow")
    options = {"cache": True, "sound": {"level": False}, "emotion": "glad"}
    await said(await rendering(pool, options=options))
    assert pool.asked[0].options == {"emotion": "glad"}


async def test_each_voice_has_its_level_and_within_a_line_the_pause_is_short() -> None:
    latin = FakePool("latin", frozenset({Script.LATIN, Script.COMMON}))
    other = FakePool("other", frozenset({Script.HAN, Script.COMMON}))
    await said(await rendering(latin, other), "I say 你好 to all.")
    first, last = (request.treatment for request in latin.asked)
    (middle,) = (request.treatment for request in other.asked)
    assert first is not None
    assert middle is not None
    assert last is not None
    assert (first.gain_db, middle.gain_db, last.gain_db) == (-3, 4, -3)
    assert (first.tail, middle.tail, last.tail) == (0.08, 0.08, 0.4)


@pytest.mark.parametrize(
    "options", [{"cache": 1}, {"cache": None}, {"cache": "no"}, {"sound": False}]
)
async def test_an_option_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(MalformedMessage, match=f"options.{next(iter(options))}"):
        await rendering(FakePool("slow"), options=options)


async def test_a_piece_for_another_engine_asks_it_for_the_language_of_the_piece() -> None:
    english = FakePool("english", frozenset({Script.LATIN}))
    chinese = FakePool("chinese", frozenset({Script.HAN}))
    one = await rendering(english, chinese)
    await said(one, "Hello 你好")
    assert [(ask.voice, ask.language) for ask in english.asked] == [("v", None)]
    assert [(ask.voice, ask.language) for ask in chinese.asked] == [(None, "zh")]
