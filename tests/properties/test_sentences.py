from hypothesis import given
from hypothesis import strategies as st

from legato.flow.punctuation import size_of
from legato.flow.sentences import MIN_MAX_CHARS, Segment, Segmenter, segments

PIECES = (
    *" \n\t.,:;?!…—-()[]\"'“”‘’«»。，！？；：、「」（）《》*_/@=&#$%°0159abzAZéñж你好我はア한ا",
    *("Dr.", "U.S.", "p.m.", "e.g.", "No.", "Inc.", "The ", "It ", "and ", "but ", "Hello", "\n\n"),
    *(
        "3.14",
        "7:30",
        "1,250",
        "1. ",
        "www.a.com",
        "😀",
        "👨\u200d👩\u200d👧",
        "e\u0301",
        "。”",
        "……",
        "...",
    ),
)
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=120).map("".join)
sizes = st.tuples(st.integers(1, 60), st.integers(MIN_MAX_CHARS, 240)).map(
    lambda pair: (min(pair), max(pair))
)


def in_pieces(segmenter: Segmenter, text: str, lengths: list[int]) -> list[Segment]:
    found, start = [], 0
    for length in lengths:
        found += segmenter.feed(text[start : start + length])
        start += length
    return found + segmenter.feed(text[start:]) + segmenter.flush()


@given(text=texts, lengths=st.lists(st.integers(0, 12)), sizes=sizes)
def test_streamed_text_gives_the_segments_of_whole_text(
    text: str, lengths: list[int], sizes: tuple[int, int]
) -> None:
    first, most = sizes
    whole = Segmenter(first_chars=first, max_chars=most)
    streamed = Segmenter(first_chars=first, max_chars=most)
    assert in_pieces(streamed, text, lengths) == whole.feed(text) + whole.flush()


@given(text=texts)
def test_one_character_at_a_time_gives_the_segments_of_whole_text(text: str) -> None:
    assert in_pieces(Segmenter(), text, [1] * len(text)) == segments(text)


@given(text=texts, sizes=sizes)
def test_nothing_but_space_is_lost_and_positions_tell_where_it_was(
    text: str, sizes: tuple[int, int]
) -> None:
    first, most = sizes
    segmenter = Segmenter(first_chars=first, max_chars=most)
    found = segmenter.feed(text) + segmenter.flush()
    assert "".join("".join(s.text for s in found).split()) == "".join(text.split())
    assert [s.text for s in found] == [text[s.start : s.end].strip() for s in found]
    assert [s.start for s in found] == [0, *(s.end for s in found[:-1])][: len(found)]


@given(text=texts, sizes=sizes)
def test_a_segment_and_what_is_held_back_never_exceed_the_bound(
    text: str, sizes: tuple[int, int]
) -> None:
    first, most = sizes
    segmenter = Segmenter(first_chars=first, max_chars=most)
    end = 0
    for position, char in enumerate(text, start=1):
        for segment in segmenter.feed(char):
            assert 0 < sum(map(size_of, segment.text)) <= most
            end = segment.end
        assert len(text[end:position].lstrip()) <= most


@given(texts=st.lists(texts, max_size=4))
def test_after_a_flush_the_positions_go_on(texts: list[str]) -> None:
    segmenter = Segmenter()
    found = [s for text in texts for s in segmenter.feed(text) + segmenter.flush()]
    whole = "".join(texts)
    assert [s.text for s in found] == [whole[s.start : s.end].strip() for s in found]
