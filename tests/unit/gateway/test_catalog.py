import asyncio

import msgspec
import pytest

from legato.bus.memory import MemoryBus
from legato.bus.records import ENGINE_KIND, TENANT, EngineRecord, VoiceRecord
from legato.errors import EngineUnavailable, LegatoError, UnknownEngine, UnknownVoice
from legato.gateway.catalog import Catalog, Choice
from legato.protocol.messages import StreamStart
from tests.unit.gateway.stage import echo, offer

HIBARI = EngineRecord(
    kind="synthesize",
    name="hibari",
    languages=("en-US",),
    voices=(VoiceRecord(name="heart", engine="hibari", languages=("en-US",)),),
    state="ready",
    default=True,
)
ESPEAK = EngineRecord(
    kind="synthesize",
    name="espeak",
    languages=("en", "cmn", "zh"),
    voices=(
        VoiceRecord(name="en", engine="espeak", languages=("en",)),
        VoiceRecord(name="mandarin", engine="espeak", languages=("cmn", "zh")),
    ),
    state="ready",
)
TONE = EngineRecord(
    kind="synthesize",
    name="tone",
    languages=("mul",),
    voices=(VoiceRecord(name="tone", engine="tone", languages=("mul",)),),
    state="ready",
)
MOONSHINE = EngineRecord(kind="recognize", name="moonshine", state="ready", default=True)


def loading(record: EngineRecord) -> EngineRecord:
    return EngineRecord(kind=record.kind, name=record.name, default=record.default)


def missing(record: EngineRecord) -> EngineRecord:
    return EngineRecord(
        kind=record.kind,
        name=record.name,
        default=record.default,
        voices=record.voices,
        state="unavailable",
        reason="pip install it",
    )


def speak(**more: object) -> StreamStart:
    return StreamStart(stream=1, stream_id="s", task="synthesize", **more)  # type: ignore[arg-type]  # fields by name


class Scene:
    def __init__(self, aliases: dict[str, str] | None = None) -> None:
        clock = asyncio.get_running_loop().time
        self.bus = MemoryBus(clock=clock)
        self.catalog = Catalog(self.bus.registry, clock, aliases)


async def chosen(start: StreamStart, *records: EngineRecord) -> Choice:
    scene = Scene()
    await offer(scene.bus, *records)
    return await scene.catalog.choose(start)


async def refusal(start: StreamStart, *records: EngineRecord) -> LegatoError:
    with pytest.raises(LegatoError) as caught:
        await chosen(start, *records)
    return caught.value


async def test_without_a_word_the_default_is_chosen() -> None:
    assert await chosen(speak(), TONE, ESPEAK, HIBARI) == Choice("hibari", "heart")


async def test_an_engine_is_chosen_by_its_name() -> None:
    assert await chosen(speak(engine="tone"), HIBARI, TONE) == Choice("tone", "tone")


async def test_an_engine_is_chosen_by_its_voice() -> None:
    assert await chosen(speak(voice="mandarin"), HIBARI, ESPEAK) == Choice("espeak", "mandarin")


async def test_an_engine_is_chosen_by_its_language_where_the_default_has_it_not() -> None:
    assert await chosen(speak(language="zh-CN"), HIBARI, ESPEAK) == Choice("espeak", "mandarin")
    assert await chosen(speak(language="EN"), ESPEAK, HIBARI) == Choice("hibari", "heart")


async def test_a_language_that_nobody_has_is_refused_and_those_at_hand_are_named() -> None:
    with pytest.raises(UnknownVoice, match=r"'tlh' is not at hand; there are: en-US$"):
        await chosen(speak(language="tlh"), HIBARI, TONE)
    with pytest.raises(UnknownVoice, match="'fr'"):
        await chosen(speak(engine="hibari", language="fr"), HIBARI)


async def test_a_language_that_another_engine_has_is_refused_with_its_name() -> None:
    for start in (speak(engine="hibari", language="zh"), speak(voice="heart", language="zh")):
        with pytest.raises(UnknownVoice, match=r"hibari does not know .* 'zh', but espeak does"):
            await chosen(start, HIBARI, ESPEAK)


async def test_who_could_speak_a_language_is_named_with_the_way_to_add_it() -> None:
    absent = msgspec.structs.replace(ESPEAK, state="unavailable", reason="add it with: pip")
    with pytest.raises(UnknownVoice, match=r"'zh' is not at hand.*add it with: pip"):
        await chosen(speak(language="zh"), HIBARI, absent)


async def test_an_engine_for_any_language_takes_any_when_it_is_named() -> None:
    assert await chosen(speak(engine="tone", language="tlh"), TONE) == Choice("tone", "tone")


async def test_a_recognizer_has_no_voice() -> None:
    start = StreamStart(stream=1, stream_id="s", task="recognize", voice="heart")
    assert await chosen(start, HIBARI, MOONSHINE) == Choice("moonshine", None)


async def test_an_engine_without_voices_has_none() -> None:
    plain = EngineRecord(kind="synthesize", name="plain", state="ready", default=True)
    assert await chosen(speak(), plain) == Choice("plain", None)


async def test_an_echo_needs_no_record() -> None:
    assert await chosen(echo()) == Choice("echo", None)
    assert await chosen(echo(engine="echo")) == Choice("echo", None)
    assert isinstance(await refusal(echo(engine="tone"), TONE), UnknownEngine)


async def test_an_unknown_engine_is_told_with_those_that_there_are() -> None:
    error = await refusal(speak(engine="nobody"), HIBARI, TONE, MOONSHINE)
    assert isinstance(error, UnknownEngine)
    assert error.message.endswith("there are: hibari, tone")
    assert (await refusal(speak(engine="nobody"))).message.endswith("there are: none")


async def test_an_unknown_voice_is_told_with_those_that_there_are() -> None:
    error = await refusal(speak(voice="nobody"), HIBARI, TONE)
    assert isinstance(error, UnknownVoice)
    assert error.message.endswith("there are: heart, tone")
    assert (await refusal(speak(voice="nobody"))).message.endswith("there are: none")


async def test_a_voice_of_another_engine_is_unknown() -> None:
    error = await refusal(speak(engine="tone", voice="heart"), HIBARI, TONE)
    assert isinstance(error, UnknownVoice)
    assert "'tone'" in error.message


async def test_engines_are_preferred_in_the_order_of_their_worker() -> None:
    first = msgspec.structs.replace(ESPEAK, name="zither", order=1)
    later = msgspec.structs.replace(ESPEAK, name="aeolian", order=2)
    chinese = speak(language="zh")
    assert (await chosen(chinese, HIBARI, later, first)).engine == "zither"


async def test_a_name_from_elsewhere_is_spoken_by_a_voice_at_hand() -> None:
    assert await chosen(speak(voice="alloy"), TONE, ESPEAK, HIBARI) == Choice("hibari", "heart")
    chinese = speak(voice="longxiaochun_v2")
    assert await chosen(chinese, HIBARI, ESPEAK) == Choice("espeak", "mandarin")


async def test_a_name_of_an_operator_is_spoken_by_the_voice_it_stands_for() -> None:
    scene = Scene({"narrator": "mandarin"})
    await offer(scene.bus, HIBARI, ESPEAK)
    assert await scene.catalog.choose(speak(voice="narrator")) == Choice("espeak", "mandarin")
    assert (await scene.catalog.aliases())["espeak", "mandarin"][0] == "narrator"


async def test_a_language_that_no_voice_speaks_is_refused_under_an_alias_too() -> None:
    error = await refusal(speak(voice="alloy", language="tlh"), HIBARI, TONE)
    assert isinstance(error, UnknownVoice)
    assert "'tlh'" in error.message


@pytest.mark.parametrize("records", [(loading(HIBARI), TONE), (missing(HIBARI), TONE), ()])
async def test_an_alias_waits_for_an_engine_as_no_name_at_all(
    records: tuple[EngineRecord, ...],
) -> None:
    assert isinstance(await refusal(speak(voice="alloy"), *records), EngineUnavailable)


@pytest.mark.parametrize("start", [speak(), speak(engine="hibari"), speak(language="en")])
async def test_who_asks_for_an_engine_that_loads_waits_for_it(start: StreamStart) -> None:
    error = await refusal(start, loading(HIBARI), TONE)
    assert isinstance(error, EngineUnavailable)
    assert error.retry_after == 1.0


@pytest.mark.parametrize("start", [speak(), speak(engine="hibari"), speak(voice="heart")])
async def test_an_engine_that_cannot_run_says_why(start: StreamStart) -> None:
    error = await refusal(start, missing(HIBARI), TONE)
    assert isinstance(error, EngineUnavailable)
    assert "pip install it" in error.message


async def test_an_engine_that_is_no_default_is_not_chosen_without_a_word() -> None:
    error = await refusal(speak(), TONE)
    assert isinstance(error, EngineUnavailable)
    assert "tone" in error.message


async def test_without_a_worker_nobody_is_ready() -> None:
    error = await refusal(speak())
    assert isinstance(error, EngineUnavailable)
    assert error.retryable


async def test_the_registry_is_read_once_a_second() -> None:
    scene = Scene()
    await offer(scene.bus, HIBARI)
    assert len(await scene.catalog.engines()) == 1
    await offer(scene.bus, TONE)
    assert len(await scene.catalog.engines()) == 1
    await asyncio.sleep(1.0)
    assert len(await scene.catalog.engines()) == 2


async def test_what_is_not_found_is_looked_for_again_at_once() -> None:
    scene = Scene()
    await offer(scene.bus, loading(HIBARI))
    await scene.catalog.engines()
    await offer(scene.bus, HIBARI)
    assert (await scene.catalog.choose(speak())).engine == "hibari"


async def test_a_record_of_another_version_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    await scene.bus.registry.put(TENANT, ENGINE_KIND, "synthesize:new", b'{"kind":"sing"}')
    await offer(scene.bus, HIBARI)
    assert [record.name for record in await scene.catalog.engines()] == ["hibari"]
    assert "cannot be read" in caplog.text


LOADING = "engines are loading"
NONE = "no engine can be used"


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        ([], LOADING),
        ([HIBARI, MOONSHINE], None),
        ([loading(HIBARI), MOONSHINE, TONE], LOADING),
        ([HIBARI, loading(MOONSHINE), TONE], LOADING),
        ([HIBARI, MOONSHINE, loading(ESPEAK)], None),
        ([HIBARI, missing(MOONSHINE)], None),
        ([missing(HIBARI), missing(MOONSHINE), TONE], NONE),
        ([missing(HIBARI), missing(MOONSHINE), loading(TONE)], NONE),
        ([missing(HIBARI), missing(MOONSHINE)], NONE),
        ([TONE], None),
        ([loading(TONE)], LOADING),
        ([missing(TONE)], NONE),
    ],
)
async def test_ready_is_when_an_engine_is_that_is_chosen_by_itself(
    records: list[EngineRecord], fault: str | None
) -> None:
    scene = Scene()
    await offer(scene.bus, *records)
    assert await scene.catalog.fault() == fault
