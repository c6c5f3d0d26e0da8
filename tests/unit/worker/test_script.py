import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.errors import MalformedMessage, UnsupportedText
from legato.protocol.messages import StreamStart
from legato.worker.script import (
    KEYS,
    MAX_LEXICON,
    Line,
    Markup,
    Reading,
    Script,
    TextOptions,
    text_options,
    written_out,
)

ENGLISH = "It is $5. Then 3 more came, e.g. 2 of us."
SSML = TextOptions(markup=Markup.SSML)


def info(*written_out: str, languages: tuple[str, ...] = ("en-US",)) -> EngineInfo:
    return EngineInfo(
        name="fake",
        kind=EngineKind.SYNTHESIZE,
        version="1",
        format=AudioFormat(16_000),
        languages=languages,
        written_out=frozenset(written_out),
    )


def start(**options: object) -> StreamStart:
    return StreamStart(stream_id="s", task="synthesize", options=options)


def lines(text: str, options: TextOptions | None = None, language: str | None = None) -> list[Line]:
    script = Script(options or TextOptions(), language)
    return [*script.feed(text), *script.finish()]


def read(text: str, engine: EngineInfo, reading: Reading = Reading.AUTO) -> list[str]:
    return [written_out(line.text, line, engine, reading) for line in lines(text)]


def test_lines_cover_the_text_as_the_scanner_cut_it() -> None:
    found = lines(ENGLISH)
    assert [line.text for line in found] == ["It is $5.", "Then 3 more came, e.g. 2 of us."]
    assert [line.start for line in found[1:]] == [line.end for line in found[:-1]]
    assert found[-1].end == len(ENGLISH)


def test_lines_do_not_depend_on_how_the_text_comes() -> None:
    script = Script(TextOptions(), None)
    found = [line for char in ENGLISH for line in script.feed(char)] + script.flush()
    assert found == lines(ENGLISH)


def test_a_number_is_written_out_for_an_engine_that_asks_for_it() -> None:
    assert read("It is $5.", info("en")) == ["It is five dollars."]
    assert read("It is $5.", info()) == ["It is $5."]
    assert read("It is $5.", info("zh")) == ["It is $5."]


def test_a_request_may_have_it_always_or_never() -> None:
    assert read("It is $5.", info(), Reading.ALWAYS) == ["It is five dollars."]
    assert read("It is $5.", info("en"), Reading.NEVER) == ["It is $5."]


def test_numbers_alone_are_read_in_the_language_before_them() -> None:
    assert read("你好吗？ 5!", info("en", "zh")) == ["你好吗？", "五!"]
    assert read("5!", info("en", "zh", languages=("zh-CN",))) == ["五!"]


def test_numbers_in_a_language_that_is_not_known_are_left() -> None:
    assert lines("Das sind 3 €.", language="de")[0].language == "de"
    (line,) = lines("Das sind 3 €.", language="de")
    assert written_out(line.text, line, info("en", "zh"), Reading.ALWAYS) == line.text


def test_an_engine_that_is_not_known_yet_gets_the_text_as_it_is() -> None:
    (line,) = lines("It is $5.")
    assert written_out(line.text, line, None, Reading.ALWAYS) == line.text


def test_markdown_and_emoji_are_stripped_on_request() -> None:
    text = "# Title\n\n**It is. Really** good 😀.\n"
    assert [line.text for line in lines(text, TextOptions(strip=True))] == [
        "Title", "It is.", "Really good .",
    ]  # fmt: skip
    assert lines("😀😀", TextOptions(strip=True))[0].speakable is False


def test_the_lexicon_says_what_is_said() -> None:
    options = text_options(start(lexicon={"sql": "sequel"}), {"sql": "S Q L", "GUI": "gooey"})
    assert [line.text for line in lines("SQL and GUI.", options)] == ["sequel and gooey."]


def test_ssml_is_read_at_its_end() -> None:
    script = Script(SSML, None)
    document = '<speak>One. Two 2.<break time="1s"/><prosody rate="slow">Three</prosody></speak>'
    assert script.whole
    assert script.feed(document[:20]) == script.feed(document[20:]) == script.flush() == []
    found = list(script.finish())
    assert [(line.text, line.rate, line.pause) for line in found] == [
        ("One.", 1, 0), ("Two 2.", 1, 1), ("Three", 0.75, 0),
    ]  # fmt: skip
    ends = [line.end for line in found]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(document)
    assert {line.language for line in found} == {"en"}


def test_a_pause_without_text_is_a_line() -> None:
    (pause, said) = lines('<speak><break time="1s"/>Hello</speak>', SSML)
    assert (pause.text, pause.pause, pause.speakable) == ("", 1, False)
    assert said.text == "Hello"


def test_the_language_of_ssml_decides_how_it_is_read() -> None:
    (line,) = lines('<speak xml:lang="en-GB">On 3/4/2024</speak>', SSML)
    assert written_out(line.text, line, info("en"), Reading.AUTO) == (
        "On April third, twenty twenty four"
    )


def test_an_empty_document_says_nothing() -> None:
    assert lines(" ", SSML) == []


def test_ssml_that_cannot_be_followed_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedText, match="<audio> is not supported"):
        lines("<speak><audio/></speak>", SSML)


def test_options_have_defaults() -> None:
    assert text_options(start(), {}) == TextOptions()
    assert {"markup", "reading", "strip", "lexicon"} == KEYS


def test_options_are_read() -> None:
    options = text_options(start(markup="ssml", reading="never", strip=True), {})
    assert options == TextOptions(Markup.SSML, Reading.NEVER, strip=True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"markup": "html"}, "options.markup must be one of text, ssml"),
        ({"markup": ["ssml"]}, "options.markup"),
        ({"reading": 1}, "options.reading must be one of auto, always, never"),
        ({"strip": "yes"}, "options.strip must be true or false"),
        ({"lexicon": ["a"]}, "options.lexicon must be an object"),
        ({"lexicon": {"a": 5}}, "options.lexicon: what the lexicon says for 'a'"),
        ({"lexicon": {"a": ["b"]}}, "options.lexicon"),
        ({"lexicon": {"": "b"}}, "options.lexicon"),
        ({"lexicon": {str(n): "b" for n in range(MAX_LEXICON + 1)}}, "at most 200 entries"),
    ],
)
def test_an_option_of_another_value_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(MalformedMessage, match=why):
        text_options(start(**options), {})


def test_a_line_tells_the_language_that_was_asked_for_and_not_the_guess() -> None:
    assert [line.asked for line in lines("Good morning.")] == [""]
    assert [line.asked for line in lines("Guten Morgen.", language="de")] == ["de"]
    ssml = '<speak>Good morning. <s xml:lang="de">Guten Morgen.</s></speak>'
    assert [line.asked for line in lines(ssml, SSML, "en")] == ["en", "de"]
