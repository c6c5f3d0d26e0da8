"""The engine in a process of its own, with options as a settings file gives them."""

import asyncio
from pathlib import Path

import pytest

from legato.audio import AudioFormat, to_float
from legato.engines.base import EngineKind
from legato.errors import EngineUnavailable
from legato.speech import SynthesisRequest
from legato.worker.calls import EngineRefused
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess
from tests.standins.cosyvoice.sound import heard, tokens
from tests.unit.engines.cosyvoice.stage import options, package

pytestmark = pytest.mark.integration

TARGET = "legato.engines.cosyvoice.engine:CosyVoice"
TEXT = "one two three four five six seven eight nine ten"


def spec(folder: Path, **more: object) -> EngineSpec:
    return EngineSpec(
        kind=EngineKind.SYNTHESIZE,
        name="cosyvoice",
        target=TARGET,
        options=options(folder, 2, **more),
    )


async def spoken(process: EngineProcess, text: str) -> bytes:
    call = process.open(SynthesisRequest(format=AudioFormat(24_000)))
    await call.feed(text)
    call.end()
    return b"".join([sound.pcm async for sound in call if isinstance(sound, Sound)])


async def test_a_process_is_given_the_options_and_speaks(tmp_path: Path) -> None:
    with package():
        process = EngineProcess(spec(tmp_path, models=2), WorkerConfig())
        info = await asyncio.wait_for(process.start(), 60)
        try:
            assert (info.slots, info.voices[0].name) == (2, "anna")
            one, other = await asyncio.gather(spoken(process, TEXT), spoken(process, "more words"))
        finally:
            await process.stop()
    assert heard(to_float(one), 24_000) == tokens(TEXT)[:-1]
    assert heard(to_float(other), 24_000) == tokens("more words")[:-1]


async def test_what_is_wrong_with_the_options_reaches_the_operator(tmp_path: Path) -> None:
    process = EngineProcess(spec(tmp_path, modle_dir="typo"), WorkerConfig())
    try:
        with pytest.raises(EngineUnavailable, match="unknown field `modle_dir`") as refused:
            await asyncio.wait_for(process.start(), 60)
        assert isinstance(refused.value, EngineRefused)
    finally:
        await process.stop()
