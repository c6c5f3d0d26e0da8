import pytest

from legato.speech.ssml import MAX_DEPTH, MAX_ELEMENTS, InvalidSsml, Span, spans


def said(document: str) -> list[tuple[str, float, float]]:
    return [(span.text, span.rate, span.pause) for span in spans(document)]


def one(inner: str) -> str:
    (span,) = spans(f"<speak>{inner}</speak>")
    return span.text


def test_text_is_one_span_that_covers_the_document() -> None:
    document = "<speak>Hello\n  there &amp; you.</speak>"
    assert spans(document) == [Span("Hello there & you.", 0, len(document))]


def test_nothing_is_said_of_an_empty_document() -> None:
    assert spans("<speak/>") == []
    assert spans("<speak> <p> </p> </speak>") == []


@pytest.mark.parametrize(
    ("attributes", "seconds"),
    [
        ("", 0.4),
        ('strength="none"', 0.0),
        ('strength="x-strong"', 1.0),
        ('time="500ms"', 0.5),
        ('time="1.5s"', 1.5),
        ('time=".5s" strength="weak"', 0.5),
    ],
)
def test_a_break_is_silence_after_what_came_before(attributes: str, seconds: float) -> None:
    assert said(f"<speak>a<break {attributes}/>b</speak>") == [("a", 1, seconds), ("b", 1, 0)]


def test_a_break_may_come_first_and_again() -> None:
    assert said('<speak><break time="1s"/><break time="2s"/>b</speak>') == [
        ("", 1, 1), ("", 1, 2), ("b", 1, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "factor"),
    [
        ("slow", 0.75),
        ("default", 1),
        ("80%", 0.8),
        ("1.5", 1.5),
        ("+20%", 1.2),
        ("-20%", 0.8),
    ],
)
def test_a_rate_holds_inside_its_element(rate: str, factor: float) -> None:
    document = f'<speak>a<prosody rate="{rate}">b</prosody>c</speak>'
    assert said(document) == [("a", 1, 0), ("b", pytest.approx(factor), 0), ("c", 1, 0)]


def test_rates_multiply() -> None:
    inner = '<prosody rate="80%">a<prosody rate="90%">b</prosody></prosody>'
    assert [span.rate for span in spans(f"<speak>{inner}</speak>")] == pytest.approx([0.8, 0.72])


def test_paragraphs_and_sentences_end_a_span() -> None:
    assert [s.text for s in spans("<speak><p><s>a</s><s>b</s></p>c</speak>")] == ["a", "b", "c"]


def test_a_substitute_is_said_instead() -> None:
    assert one('the <sub alias="World Wide Web">WWW</sub>!') == "the World Wide Web!"


def test_say_as_follows_the_language_of_the_document() -> None:
    three = '<say-as interpret-as="ordinal">3</say-as>'
    assert one(three) == "third"
    assert one(f"{three}名") == "第三名"
    assert one(f'<s xml:lang="zh-CN">{three}</s>') == "第三"
    assert one(f'<s xml:lang="en">{three} 名</s>') == "third 名"


def test_a_date_has_a_format() -> None:
    date = '<say-as interpret-as="date" format="dmy">3/4/2024</say-as>'
    assert one(date) == "April third, twenty twenty four"


def test_the_language_is_inherited() -> None:
    document = '<speak xml:lang="en-GB">a<s xml:lang="zh">b</s><break/></speak>'
    assert [span.language for span in spans(document)] == ["en-GB", "zh", "en-GB"]


def test_spans_cover_the_document_without_gap_and_none_is_empty() -> None:
    document = '<speak>你<break/><p>好 <prosody rate="fast">é</prosody></p>x<break/></speak>'
    found = spans(document)
    assert [span.start for span in found] == [0, *(span.end for span in found[:-1])]
    assert found[-1].end == len(document)
    assert all(span.start < span.end for span in found)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("hello", "not well-formed"),
        ("<speak>a", "not well-formed"),
        ("<speak>a</p></speak>", "mismatched tag, line 1"),
        ("<speak>\n&nbsp;</speak>", "undefined entity, line 2"),
        ("<speak>\ud800</speak>", "not well-formed"),
        ('<!DOCTYPE speak [<!ENTITY a "b">]><speak>&a;</speak>', "entities are not allowed"),
        ('<!DOCTYPE speak SYSTEM "file:///etc/passwd"><speak/>', "entities are not allowed"),
        ("<?run this?><speak/>", "processing instruction 'run'"),
        ("<p>a</p>", "<speak> must be the outermost"),
        ("<speak><speak>a</speak></speak>", "<speak> must be the outermost"),
        ('<speak><audio src="x"/></speak>', "<audio> is not supported"),
        ('<speak><phoneme ph="x">a</phoneme></speak>', "<phoneme> is not supported"),
        ('<speak><prosody pitch="high">a</prosody></speak>', '"pitch" of <prosody>'),
        ('<speak><prosody rate="300%">a</prosody></speak>', 'rate="300%"'),
        ('<speak><prosody rate="quick">a</prosody></speak>', 'rate="quick"'),
        ('<speak><break time="11s"/></speak>', 'time="11s"'),
        ('<speak><break time="soon"/></speak>', 'time="soon"'),
        ('<speak><break strength="big"/></speak>', 'strength="big"'),
        ("<speak><break>a</break></speak>", "<break> holds no text"),
        ("<speak><sub>a</sub></speak>", '<sub> needs the attribute "alias"'),
        ("<speak><say-as>a</say-as></speak>", '"interpret-as"'),
        ('<speak><say-as interpret-as="cardinal">a</say-as></speak>', "'a' is not a number"),
        ('<speak><sub alias="a"><s>b</s></sub></speak>', "<sub> holds no elements"),
        ("<speak>" + "<p>" * MAX_DEPTH + "a", "levels"),
        ("<speak>" + "<break/>" * MAX_ELEMENTS + "</speak>", "elements"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(document: str, why: str) -> None:
    with pytest.raises(InvalidSsml, match=why):
        spans(document)
