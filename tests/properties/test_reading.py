from hypothesis import example, given
from hypothesis import strategies as st

from legato.speech.reading import language_of, read_out
from legato.speech.ssml import InvalidSsml, spans

PIECES = (
    *" \n.,:;?!…—–-−+()[]\"'’，。：、《》*_/@=&#$€£¥￥%‰°×÷±²³",
    *"0123459aAkKmMvxzZéß你年月日号个点元比第后٣９K",
    *("Dr.", "St.", "No.", "Jan.", "Mon.", "p.m.", "e.g.", "etc.", "www.a.com", "https://"),
    *("12", "2024", "1,250", "3.5", "7:30", "1/2", "5km", "km/h", "USD", "21st", "80s", "IV"),
    *("Chapter ", "May ", "in ", "the ", "has ", "编号", "拨打", "比分", "13800138000", "@b.cn"),
)
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=60).map("".join)
TAGS = ("<speak>", "</speak>", "<p>", "</p>", "<break/>", '<break time="1s"/>', "<prosody>",
        '<prosody rate="slow">', "</prosody>", '<sub alias="b">', "</sub>", "</say-as>",
        '<say-as interpret-as="date">', '<say-as interpret-as="digits">', "&amp;", "&x;",
        "<!DOCTYPE speak>", "<!--c-->", "<![CDATA[d]]>", "5", "你", "text ")  # fmt: skip
documents = st.lists(st.sampled_from(TAGS), max_size=30).map("".join)


@given(texts)
@example("1,000,000.5-10 kg ² ９:30 ٣rd")
def test_any_text_is_read_in_any_language(text: str) -> None:
    for tag in ("en", "en-GB", "zh", "de", language_of(text)):
        assert bool(read_out(text, tag).strip()) == bool(text.strip())


@given(texts)
def test_what_is_read_holds_no_ascii_digit(text: str) -> None:
    for tag in ("en", "zh"):
        read = read_out(text, tag)
        assert not any(char in "0123456789" for char in read)


@given(texts.filter(lambda text: not any(c.isdigit() or c in ".&=@%±×÷/:" for c in text)))
def test_text_without_numbers_and_signs_is_the_same(text: str) -> None:
    assert read_out(text, "zh") == text


@given(documents.map(lambda inner: f"<speak>{inner}</speak>") | documents)
def test_a_document_is_read_or_refused(document: str) -> None:
    try:
        found = spans(document)
    except InvalidSsml:
        return
    assert [span.start for span in found] == [0, *(span.end for span in found[:-1])][: len(found)]
    assert all(span.start < span.end <= len(document) for span in found)
