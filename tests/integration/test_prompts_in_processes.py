"""Recordings of voices on their way to an engine process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from legato.engines.base import EngineKind
from legato.speech import SynthesisRequest
from legato.speech.voices import VoicePrompt
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess
from tests.integration.cloning_engines import FORM

pytestmark = pytest.mark.integration

SPEC = EngineSpec(
    kind=EngineKind.SYNTHESIZE, name="parrot", target="tests.integration.cloning_engines:Parrot"
)
LONGEST = bytes(range(250)) * 5_760


def prompt(digest: str, pcm: bytes = LONGEST) -> VoicePrompt:
    return VoicePrompt(name="anna", pcm=pcm, format=FORM, digest=digest)


@asynccontextmanager
async def running() -> AsyncIterator[EngineProcess]:
    process = EngineProcess(SPEC, WorkerConfig())
    await asyncio.wait_for(process.start(), 60)
    try:
        yield process
    finally:
        await process.stop()


async def said(process: EngineProcess, voice: VoicePrompt | None) -> bytes:
    call = process.open(SynthesisRequest(format=FORM, prompt=voice))
    await call.feed("say it")
    call.end()
    async with asyncio.timeout(30):
        return b"".join([sound.pcm async for sound in call if isinstance(sound, Sound)])


async def test_engines_are_given_recordings_whole_and_told_to_forget_them() -> None:
    async with running() as process:
        one, two = await asyncio.gather(
            said(process, prompt("one")), said(process, prompt("two", LONGEST[::-1]))
        )
        assert (one, two) == (LONGEST, LONGEST[::-1])
        assert await said(process, prompt("one")) == LONGEST
        process.keep_prompts({"two"})
        assert await said(process, prompt("two", LONGEST[::-1])) == LONGEST[::-1]
        assert (await said(process, None)).decode("utf-16-le") == "one"
        assert await said(process, prompt("one")) == LONGEST


async def test_an_engine_that_does_not_forget_goes_on() -> None:
    async with running() as process:
        assert await said(process, prompt("bad")) == LONGEST
        process.keep_prompts(())
        assert (await said(process, None)).decode("utf-16-le") == "bad"
