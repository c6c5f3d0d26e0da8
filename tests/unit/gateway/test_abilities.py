import pytest

from legato.bus.records import EngineRecord
from legato.errors import LegatoError, UnknownEngine, UnknownVoice, UnsupportedOption
from legato.gateway.catalog import Choice
from legato.protocol.messages import StreamStart
from tests.unit.gateway.test_catalog import HIBARI, chosen, refusal

PLAIN = EngineRecord(kind="recognize", name="plain", languages=("en",), state="ready", default=True)
ABLE = EngineRecord(
    kind="recognize",
    name="able",
    languages=("de", "en"),
    state="ready",
    abilities=("hotwords", "language_detection", "punctuation"),
)
AWAY = EngineRecord(
    kind="recognize",
    name="away",
    state="unavailable",
    reason="pip install it",
    abilities=("hotwords", "speakers"),
)
ALL = (PLAIN, ABLE, AWAY)


def hear(**fields: object) -> StreamStart:
    return StreamStart(stream=1, stream_id="s", task="recognize", **fields)  # type: ignore[arg-type]  # by name


async def refused(start: StreamStart) -> LegatoError:
    return await refusal(start, *ALL)


async def test_what_the_default_cannot_do_is_refused_and_who_can_is_named() -> None:
    error = await refused(hear(hotwords=["Legato"]))
    assert isinstance(error, UnsupportedOption)
    assert "'plain' does not have hotwords" in error.message
    assert "engines here that have: able)" in error.message
    assert await chosen(hear(hotwords=["Legato"], engine="able"), *ALL) == Choice("able", None)


async def test_what_nobody_can_do_is_refused_by_name() -> None:
    error = await refused(hear(engine="able", options={"speakers": True}))
    assert isinstance(error, UnsupportedOption)
    assert "options.speakers" in error.message
    assert "no engine here has" in error.message
    assert await chosen(hear(options={"speakers": False}), *ALL) == Choice("plain", None)


async def test_a_language_to_be_found_out_goes_to_an_engine_that_can() -> None:
    assert await chosen(hear(language="auto"), *ALL) == Choice("able", None)


@pytest.mark.parametrize("records", [(PLAIN,), (PLAIN, AWAY)])
async def test_a_language_that_nobody_finds_out_is_refused(
    records: tuple[EngineRecord, ...],
) -> None:
    error = await refusal(hear(language="auto"), *records)
    assert isinstance(error, UnsupportedOption)
    assert "'plain' does not have language detection" in error.message


async def test_an_engine_that_is_named_must_find_out_the_language_itself() -> None:
    assert isinstance(await refused(hear(language="auto", engine="plain")), UnsupportedOption)
    assert await chosen(hear(language="auto", engine="able"), *ALL) == Choice("able", None)
    assert isinstance(await refused(hear(language="fr", engine="able")), UnknownEngine)


async def test_a_value_that_no_option_has_is_refused_at_once() -> None:
    error = await refused(hear(options={"punctuation": "yes"}))
    assert isinstance(error, UnsupportedOption)
    assert "options.punctuation is true or false" in error.message


async def test_a_synthesis_may_have_options_of_these_names() -> None:
    start = StreamStart(stream=1, stream_id="s", task="synthesize", options={"punctuation": "all"})
    assert await chosen(start, HIBARI) == Choice("hibari", "heart")
    auto = StreamStart(stream=1, stream_id="s", task="synthesize", language="auto")
    assert isinstance(await refusal(auto, HIBARI), UnknownVoice)
