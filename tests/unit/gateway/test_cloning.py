import asyncio

import msgspec
import pytest

from legato.bus.memory import MemoryBus
from legato.bus.records import EngineRecord, VoiceRecord
from legato.bus.voices import Consent, OwnVoice, OwnVoices, digest
from legato.errors import EngineUnavailable, LegatoError, UnknownVoice
from legato.gateway.catalog import Catalog, Choice
from legato.gateway.cloning import Voices
from legato.protocol.messages import StreamStart
from tests.unit.gateway.stage import echo, offer

HIBARI = EngineRecord(
    kind="synthesize",
    name="hibari",
    voices=(VoiceRecord(name="heart", engine="hibari"),),
    state="ready",
    default=True,
)
COSYVOICE = EngineRecord(
    kind="synthesize",
    name="cosyvoice",
    voices=(VoiceRecord(name="demo", engine="cosyvoice"),),
    abilities=("cloning",),
    state="ready",
)
OTHER = msgspec.structs.replace(COSYVOICE, name="cosyvoice-http")
PCM = b"\x01\x02" * 100


async def chosen(start: StreamStart, *records: EngineRecord, tenant: str = "acme") -> Choice:
    clock = asyncio.get_running_loop().time
    bus = MemoryBus(clock=clock)
    await offer(bus, *records)
    voices = OwnVoices(bus)
    for name in ("anna", "heart", "Zoë"):
        voice = OwnVoice(
            name=name,
            sample_rate=24_000,
            seconds=1.0,
            digest=digest(PCM),
            created=1.0,
            consent=Consent(statement="yes", given=1.0),
        )
        await voices.add("acme", voice, PCM)
    return await Voices(voices, Catalog(bus.registry, clock)).choose(tenant, start)


async def refusal(start: StreamStart, *records: EngineRecord) -> LegatoError:
    with pytest.raises(LegatoError) as caught:
        await chosen(start, *records)
    return caught.value


def speak(**more: object) -> StreamStart:
    return StreamStart(stream=1, stream_id="s", task="synthesize", **more)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize("name", ["anna", "Zoë", "Zoe\u0308"])
async def test_who_can_speak_with_recordings_speaks_with_one_s_own_voice(name: str) -> None:
    assert await chosen(speak(voice=name), HIBARI, COSYVOICE) == Choice("cosyvoice", name)


async def test_the_default_goes_before_others_that_can() -> None:
    default = msgspec.structs.replace(OTHER, default=True)
    assert (await chosen(speak(voice="anna"), COSYVOICE, default)).engine == "cosyvoice-http"


async def test_else_the_order_of_the_worker_decides() -> None:
    other = msgspec.structs.replace(OTHER, order=0)
    first = msgspec.structs.replace(COSYVOICE, order=1)
    assert (await chosen(speak(voice="anna"), first, other)).engine == "cosyvoice-http"


async def test_the_language_decides_before_that() -> None:
    chinese = msgspec.structs.replace(COSYVOICE, languages=("zh-CN", "en-US"), default=True)
    french = msgspec.structs.replace(OTHER, languages=("fr-FR",))
    for language, engine in (("cmn", "cosyvoice"), ("fr", "cosyvoice-http")):
        start = speak(voice="anna", language=language)
        assert (await chosen(start, french, chinese)).engine == engine
    error = await refusal(speak(voice="anna", language="tlh"), french, chinese)
    assert isinstance(error, UnknownVoice)
    assert error.message.endswith("they speak: en-US, fr-FR, zh-CN")


async def test_one_that_is_named_is_taken() -> None:
    start = speak(voice="anna", engine="cosyvoice-http")
    assert (await chosen(start, COSYVOICE, OTHER)).engine == "cosyvoice-http"


async def test_one_s_own_voice_goes_before_an_engine_s() -> None:
    assert await chosen(speak(voice="heart"), HIBARI, COSYVOICE) == Choice("cosyvoice", "heart")


async def test_another_tenant_has_it_not() -> None:
    with pytest.raises(UnknownVoice, match="no engine has a voice 'anna'"):
        await chosen(speak(voice="anna"), HIBARI, COSYVOICE, tenant="other")
    assert (await chosen(speak(voice="heart"), HIBARI, tenant="other")).engine == "hibari"


async def test_everything_else_is_chosen_as_before() -> None:
    assert await chosen(speak(), HIBARI, COSYVOICE) == Choice("hibari", "heart")
    assert await chosen(speak(voice="demo"), HIBARI, COSYVOICE) == Choice("cosyvoice", "demo")
    assert (await chosen(echo())).engine == "echo"
    with pytest.raises(UnknownVoice):
        await chosen(speak(voice="no such/name"), HIBARI)


async def test_an_engine_that_cannot_is_refused_and_those_that_can_are_named() -> None:
    error = await refusal(speak(voice="anna", engine="hibari"), HIBARI, OTHER, COSYVOICE)
    assert isinstance(error, UnknownVoice)
    assert error.message.endswith("these can: cosyvoice, cosyvoice-http")


async def test_where_nobody_can_the_way_out_is_named() -> None:
    error = await refusal(speak(voice="anna"), HIBARI)
    assert isinstance(error, EngineUnavailable)
    assert error.message.endswith("with a voice of your own; see docs/voices.md")
    broken = msgspec.structs.replace(COSYVOICE, state="unavailable", reason="clone it")
    error = await refusal(speak(voice="anna"), HIBARI, broken)
    assert isinstance(error, EngineUnavailable)
    assert error.message.endswith("; cosyvoice: clone it")


async def test_one_that_loads_is_waited_for() -> None:
    error = await refusal(speak(voice="anna"), msgspec.structs.replace(COSYVOICE, state="loading"))
    assert isinstance(error, EngineUnavailable)
    assert error.retry_after == 1.0
