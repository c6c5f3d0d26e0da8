import msgspec
import pytest

from legato.bus.records import EngineRecord, VoiceRecord
from legato.errors import UnknownVoice
from legato.gateway.casting import Casting
from legato.protocol.messages import StreamStart
from tests.unit.gateway.stage import Gateway


def engine(name: str, *voices: tuple[str, str, str | None], default: bool = False) -> EngineRecord:
    """An engine that is ready, with voices as name, language and gender."""
    return EngineRecord(
        kind="synthesize",
        name=name,
        languages=tuple(dict.fromkeys(language for _, language, _ in voices)),
        voices=tuple(
            VoiceRecord(name=voice, engine=name, languages=(language,), gender=gender)
            for voice, language, gender in voices
        ),
        state="ready",
        default=default,
    )


HIBARI = engine("hibari", ("heart", "en-US", "female"), default=True)
PIPER = engine("piper", ("joe", "en-US", "male"), ("alan", "en-GB", "male"))
COSYVOICE = engine("cosyvoice", ("anna", "zh-CN", "female"), ("bo", "zh-CN", "male"))
ESPEAK = engine("espeak", ("en-us", "en-US", None), ("cmn", "zh-CN", None), ("yue", "yue-HK", None))
TONE = engine("tone", ("tone", "mul", None))
ALL = (HIBARI, PIPER, COSYVOICE, ESPEAK, TONE)


def ask(voice: str | None, **more: object) -> StreamStart:
    return StreamStart(stream=1, stream_id="s", task="synthesize", voice=voice, **more)  # type: ignore[arg-type]  # fields by name


def spoken(
    voice: str, *offered: EngineRecord, aliases: dict[str, str] | None = None, **more: object
) -> tuple[str | None, str | None]:
    start = Casting(aliases).cast(ask(voice, **more), offered)
    return start.engine, start.voice


@pytest.mark.parametrize(
    ("alias", "voice"),
    [
        ("alloy", ("hibari", "heart")),
        ("nova", ("hibari", "heart")),
        ("onyx", ("piper", "joe")),
        ("fable", ("piper", "alan")),
        ("longxiaochun", ("cosyvoice", "anna")),
        ("longcheng_v2", ("cosyvoice", "bo")),
        ("longjiayi_v3", ("espeak", "yue")),
    ],
)
def test_an_alias_is_spoken_by_who_has_the_language_and_then_the_gender(
    alias: str, voice: tuple[str, str]
) -> None:
    assert spoken(alias, *ALL) == voice


def test_a_gender_that_nobody_has_leaves_it_to_the_default_engine() -> None:
    assert spoken("onyx", ESPEAK, HIBARI) == ("hibari", "heart")


def test_the_language_asked_for_goes_before_that_of_the_name() -> None:
    assert spoken("alloy", *ALL, language="zh") == ("cosyvoice", "anna")
    assert spoken("onyx", *ALL, language="zh-TW") == ("cosyvoice", "bo")


def test_a_language_that_nobody_speaks_leaves_it_to_gender_and_default() -> None:
    assert spoken("longxiaochun", HIBARI, PIPER) == ("hibari", "heart")
    assert spoken("longcheng", HIBARI, PIPER) == ("piper", "joe")


def test_the_first_engine_goes_before_later_ones() -> None:
    assert spoken("longwan", HIBARI, COSYVOICE, ESPEAK) == ("cosyvoice", "anna")
    plain = engine("plain", ("p", "zh", None))
    assert spoken("longpaopao", HIBARI, plain, ESPEAK) == ("plain", "p")


def test_a_voice_of_that_name_always_wins() -> None:
    openai = engine("openai", ("alloy", "en", None))
    assert spoken("alloy", *ALL, openai) == (None, "alloy")
    gone = msgspec.structs.replace(openai, state="unavailable")
    assert spoken("alloy", *ALL, gone, aliases={"alloy": "joe"}) == (None, "alloy")


def test_an_engine_that_is_named_speaks_for_the_alias_itself() -> None:
    assert spoken("alloy", *ALL, engine="cosyvoice") == ("cosyvoice", "anna")
    assert spoken("onyx", *ALL, engine="cosyvoice") == ("cosyvoice", "bo")
    assert spoken("alloy", *ALL, engine="tone") == ("tone", "tone")


def test_who_wants_speech_gets_no_tones() -> None:
    assert spoken("alloy", TONE) == (None, None)


def test_the_default_engine_is_waited_for_and_no_other() -> None:
    loading = msgspec.structs.replace(HIBARI, state="loading")
    assert spoken("alloy", loading, ESPEAK) == ("hibari", "heart")
    assert spoken("alloy", HIBARI, msgspec.structs.replace(PIPER, state="loading")) == (
        "hibari",
        "heart",
    )


def test_other_names_and_other_tasks_are_left_alone() -> None:
    assert spoken("nobody", *ALL) == (None, "nobody")
    silent = ask(None)
    assert Casting().cast(silent, ALL) is silent
    heard = msgspec.structs.replace(ask("alloy"), task="recognize")
    assert Casting().cast(heard, ALL) is heard


@pytest.mark.parametrize(
    ("target", "voice"),
    [
        ("joe", ("piper", "joe")),
        ("cosyvoice/bo", ("cosyvoice", "bo")),
        ("onyx", ("piper", "joe")),
    ],
)
def test_an_operator_names_voices(target: str, voice: tuple[str, str]) -> None:
    assert spoken("alloy", *ALL, aliases={"alloy": target}) == voice
    assert spoken("narrator", *ALL, aliases={"narrator": target}) == voice


def test_a_voice_that_an_operator_means_is_taken_from_an_engine_that_is_ready() -> None:
    twin = msgspec.structs.replace(PIPER, name="twin", state="unavailable")
    assert spoken("narrator", twin, PIPER, aliases={"narrator": "joe"}) == ("piper", "joe")


def test_an_operators_alias_for_nothing_is_told() -> None:
    with pytest.raises(UnknownVoice, match=r"voice_aliases says that 'a' is 'gone'.*anna, bo"):
        spoken("a", COSYVOICE, aliases={"a": "gone"})
    with pytest.raises(UnknownVoice, match="there are: none"):
        spoken("a", aliases={"a": "gone"})


def test_each_voice_has_the_names_that_it_speaks_for() -> None:
    names = Casting({"narrator": "joe", "lost": "gone", "heart": "bo"}).names(ALL)
    assert names["hibari", "heart"][:2] == ["alloy", "coral"]
    assert names["piper", "joe"][0] == "narrator"
    assert "longwan" in names["cosyvoice", "anna"]
    listed = [name for voices in names.values() for name in voices]
    assert len(listed) == len(set(listed))
    # A voice of its own name is nobody's alias; nobody speaks Korean.
    assert not {"lost", "heart", "loongjihun"} & set(listed)


async def test_a_client_is_told_the_voice_that_speaks_and_the_worker_speaks_with_it() -> None:
    gateway = await Gateway().open(HIBARI)
    line = await gateway.hello()
    line.say(ask("alloy"))
    started = await line.hear("stream_started")
    assert (started["engine"], started["voice"]) == ("hibari", "heart")
    claim = await gateway.bus.jobs.claim(("hibari",), "w", lease=600.0, wait=1.0)
    assert claim is not None
    assert (claim.job.engine, claim.job.start.voice) == ("hibari", "heart")
