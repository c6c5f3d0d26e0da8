import asyncio

import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.errors import EngineFailed, EngineTimeout, UnknownVoice
from legato.speech import SynthesisRequest
from legato.worker.calls import EngineLost, EngineRefused
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.inline import InlineHost

AUDIO = AudioFormat(16_000)
UNRULY = "tests.integration.unruly_engines"


def host(target: str | None = None, *, timeout: float = 10.0) -> InlineHost:
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=3, target=target)
    return InlineHost(spec, WorkerConfig(engine_timeout=timeout))


async def test_calls_run_side_by_side() -> None:
    tone = host()
    info = await tone.start()
    assert (info.name, tone.calls.free) == ("tone", 3)
    calls = [tone.open(SynthesisRequest(format=AUDIO)) for _ in range(3)]
    assert tone.calls.free == 0
    for call in calls:
        await call.feed("ab")
        call.end()
    for call in calls:
        sounds = [output.pcm async for output in call if isinstance(output, Sound)]
        assert len(b"".join(sounds)) == 2 * 2 * 800
    assert tone.calls.free == 3
    await tone.stop()
    assert await tone.lost() == "stopped"


async def test_an_engines_error_is_the_calls() -> None:
    tone = host()
    await tone.start()
    call = tone.open(SynthesisRequest(format=AUDIO, voice="nobody"))
    with pytest.raises(UnknownVoice):
        await anext(call)
    await tone.stop()


async def test_a_crashless_failure_is_engine_failed() -> None:
    broken = host(f"{UNRULY}:Broken")
    await broken.start()
    call = broken.open(SynthesisRequest(format=AUDIO))
    call.end()
    with pytest.raises(EngineFailed, match="ValueError"):
        await anext(call)
    await broken.stop()


async def test_a_stopped_host_lets_its_calls_go() -> None:
    tone = host()
    await tone.start()
    call = tone.open(SynthesisRequest(format=AUDIO))
    waiting = asyncio.create_task(anext(call))
    await asyncio.sleep(0)
    await tone.stop()
    with pytest.raises(EngineLost):
        await waiting


async def test_a_call_that_hangs_all_the_same_times_out() -> None:
    sleepy = host(f"{UNRULY}:Obedient", timeout=0.05)
    await sleepy.start()
    call = sleepy.open(SynthesisRequest(format=AUDIO))
    await call.feed("sleep")
    with pytest.raises(EngineTimeout):
        await asyncio.wait_for(anext(call), 20)
    assert sleepy.calls.free == 2
    await sleepy.stop()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (f"{UNRULY}:Refusing", "weights are missing"),
        (f"{UNRULY}:Stumbling", "cannot be loaded: it raised ValueError"),
        (f"{UNRULY}:Nothing", "not an engine's module:Class"),
    ],
)
async def test_an_engine_that_cannot_be_loaded_says_why(target: str, reason: str) -> None:
    with pytest.raises(EngineRefused, match=reason) as caught:
        await host(target).start()
    assert (caught.value.info is None) == target.endswith("Nothing")
