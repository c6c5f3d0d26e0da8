import json
from pathlib import Path

import pytest

from legato.flow.sentences import MAX_CHARS, MIN_MAX_CHARS, Segment, Segmenter, segments

CUT = "‖"
CORPUS = Path(__file__).parents[2] / "corpus" / "sentences.jsonl"
MARKED = [json.loads(line)["marked"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def whole(marked: str) -> str:
    return marked.replace(CUT, "")


def pieces(marked: str) -> list[str]:
    return [piece.strip() for piece in marked.split(CUT)]


def texts(found: list[Segment]) -> list[str]:
    return [segment.text for segment in found]


def cut(text: str, *, first_chars: int = MAX_CHARS, max_chars: int = MAX_CHARS) -> list[str]:
    """The segments of a text; unless told otherwise, the first is cut like all others."""
    segmenter = Segmenter(first_chars=first_chars, max_chars=max_chars)
    return texts(segmenter.feed(text) + segmenter.flush())


def decided_by(text: str) -> tuple[str, list[str]]:
    """The text up to the character that lets the first segments out, and these."""
    segmenter = Segmenter()
    for position, char in enumerate(text, start=1):
        if found := segmenter.feed(char):
            return text[:position], texts(found)
    return text, []


# ── whole sentences ──


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(set(MARKED)) >= 120


@pytest.mark.parametrize("marked", MARKED)
def test_a_sentence_of_the_corpus_is_cut_where_it_is_marked(marked: str) -> None:
    assert cut(whole(marked)) == pieces(marked)


@pytest.mark.parametrize("marked", MARKED)
def test_a_sentence_fed_by_characters_is_cut_where_it_is_marked(marked: str) -> None:
    segmenter = Segmenter(first_chars=MAX_CHARS)
    found = [segment for char in whole(marked) for segment in segmenter.feed(char)]
    assert texts(found + segmenter.flush()) == pieces(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "I live in the U.S. ‖It’s large.",
        "I live in the U.S. Itchy dogs do, too.",
        "I live in the U.S. (the East) now.",
        'I live in the U.S. ‖"The East," I say.',
        "I live in the U.S.\n‖It is large.",
        "I live in the U.S.\nVirgin Islands.",
        "He met Dr.\nSmith.",
        "We are open until 5 p.m. ‖We",
        "We are open until 5 p.m. Wednesdays",
        "Wait.   ‖   What?",
        "‘Stop.’ he said. ‖She went.",
        '"Stop."\nhe said.',
        "He left. ‖- She stayed.",
        "Stop. ---",
        "--- \n\nText.",
        "Go! 😀 ‖Now.",
    ],
)
def test_what_follows_a_doubtful_mark_decides(marked: str) -> None:
    assert cut(whole(marked)) == pieces(marked)


def test_a_short_bracket_is_kept_whole_and_a_long_one_is_not() -> None:
    short, long = "(It is late. It is cold.)", "(" + "It is late. " * 9 + "It is cold.)"
    assert cut(f"He left {short} at once.") == [f"He left {short} at once."]
    assert cut(f"He left {long} at once.") == [
        "He left (" + "It is late. " * 6 + "It is late.",
        "It is late.",
        "It is late.",
        "It is cold.) at once.",
    ]


def test_an_empty_line_ends_a_bracket_that_was_never_closed() -> None:
    assert cut("He left (at 5.\n\nIt rained. It stopped.") == [
        "He left (at 5.",
        "It rained.",
        "It stopped.",
    ]


def test_a_short_line_is_a_title_and_a_long_one_was_wrapped() -> None:
    long = "The committee that met in the old town hall of Paris"
    assert cut("The Committee\nParis met.") == ["The Committee", "Paris met."]
    assert cut(f"{long}\nParis met.") == [f"{long}\nParis met."]


# ── segments to speak ──


@pytest.mark.parametrize(
    "marked",
    [
        "Hello there, ‖my name is Legato, and I read aloud. ‖I listen, too.",
        "Well, I think so. ‖Yes.",
        "今天天气很好，‖我们一起去公园散步吧，好吗？‖你好。",
        "你好，我是小明，‖你呢？",
        "On January 15, 2024, ‖we met.",
        "The price was $1,250,000 in 2020. ‖Now, it is more.",
        "我有1，250元的存款，‖你呢？",
        "We left at 7:30 with bags: ‖books and pens.",
        "He came at last—‖late as ever.",
        "我喜欢苹果、香蕉、梨和葡萄。‖你呢？",
        "He called her (my dear, sweet one, he said) again, ‖and left.",
        "我不知道……‖他走了，真的。",
        "Good morning,\n‖dear friends.",
        "Hello there,friends and others.",
        "他对我说:‖你好吗,小明?",
    ],
)
def test_the_first_segment_ends_at_a_clause_mark_after_a_few_words(marked: str) -> None:
    assert texts(segments(whole(marked))) == pieces(marked)


def test_a_sentence_up_to_the_bound_stays_whole_and_a_long_one_is_cut_at_a_clause_mark() -> None:
    clause = "it was the age of wisdom"
    short = f"Then {clause}, {clause}, {clause}."
    long = f"Then {clause}, {clause}, {clause}, {clause}, {clause}, {clause}."
    assert cut(f"Yes. {short}") == ["Yes.", short]
    assert cut(f"Yes. {long}") == [
        "Yes.",
        f"Then {clause}, {clause}, {clause}, {clause}, {clause},",
        f"{clause}.",
    ]


def test_long_text_without_clause_marks_is_cut_before_a_conjunction() -> None:
    assert cut("one two three and four five six", max_chars=24, first_chars=24) == [
        "one two three",
        "and four five six",
    ]


def test_long_text_without_conjunctions_is_cut_at_a_space() -> None:
    found = cut("word " * 100)
    assert "".join(found).replace(" ", "") == "word" * 100
    assert set(" ".join(found).split()) == {"word"}


def test_a_clause_mark_that_came_too_early_to_cut_serves_when_the_text_grows_too_long() -> None:
    assert cut("No. one two, three four five six", max_chars=20, first_chars=20) == [
        "No. one two,",
        "three four five six",
    ]


def test_a_title_is_not_torn_from_its_name_by_length() -> None:
    assert cut("aaa bbb ccc Dr. Smith", max_chars=20, first_chars=20) == [
        "aaa bbb ccc",
        "Dr. Smith",
    ]
    assert cut("aaa bbb ccc ddd Dr.  Smith", max_chars=20, first_chars=20) == [
        "aaa bbb ccc ddd",
        "Dr.  Smith",
    ]


def test_a_full_stop_is_the_place_to_cut_when_the_bound_is_met_before_it_is_decided() -> None:
    assert cut("aaa bbb, ccc ddd.   " + "(" * 8 + "e", max_chars=20, first_chars=20) == [
        "aaa bbb, ccc ddd.",
        "((((((((e",
    ]


def test_long_chinese_is_cut_between_characters() -> None:
    assert [len(piece) for piece in cut("天" * 150)] == [66, 66, 18]


def test_a_latin_word_in_long_chinese_stays_whole() -> None:
    found = cut("天" * 60 + "Mississippi-River-Valley" + "地" * 10)
    assert found == ["天" * 60, "Mississippi-River-Valley" + "地" * 10]


def test_a_word_longer_than_the_bound_is_cut_anywhere() -> None:
    assert [len(piece) for piece in cut("a" * 450)] == [200, 200, 50]


def test_a_letter_keeps_its_accent_in_a_cut_anywhere() -> None:
    found = cut("e\u0301" * 20, max_chars=17, first_chars=17)
    assert found == ["e\u0301" * 8, "e\u0301" * 8, "e\u0301" * 4]


def test_accents_alone_are_cut_too() -> None:
    assert [len(piece) for piece in cut("\u0301" * 40, max_chars=16, first_chars=16)] == [16, 16, 8]


def test_marks_that_are_cut_by_the_bound_still_end_their_sentence() -> None:
    assert cut("." * 20 + " Yes. No.", max_chars=16, first_chars=16) == [
        "." * 16,
        ".... Yes.",
        "No.",
    ]


def test_a_text_of_10_000_characters_without_punctuation_is_bounded_character_by_character() -> (
    None
):
    segmenter = Segmenter()
    found = [segment for char in "ab" * 5000 for segment in segmenter.feed(char)]
    assert [len(segment.text) for segment in found + segmenter.flush()] == [200] * 50


# ── when a segment comes out ──


@pytest.mark.parametrize(
    ("text", "decided", "segment"),
    [
        ("Hello. What", "Hello. W", "Hello."),
        ("Hello.\nWhat", "Hello.\n", "Hello."),
        ("你好。你", "你好。你", "你好。"),
        ("你好。\n你", "你好。\n", "你好。"),
        ("He said so, and", "He said so, ", "He said so,"),
        ("It was May 15, and", "It was May 15, a", "It was May 15,"),
        ("今天天气，你", "今天天气，你", "今天天气，"),
        ("In the U.S. The best", "In the U.S. The ", "In the U.S."),
        ("A title\n\nText", "A title\n\n", "A title"),
    ],
)
def test_a_segment_comes_out_with_the_character_that_decides_it(
    text: str, decided: str, segment: str
) -> None:
    assert decided_by(text) == (decided, [segment])


@pytest.mark.parametrize("text", ["Hello.", "Hello. ", "It is 3.", "In the U.S. The", "你好。"])
def test_what_may_still_go_on_is_held_back(text: str) -> None:
    assert decided_by(text) == (text, [])


# ── positions, flush, reset ──


def test_positions_count_all_characters_and_space_belongs_to_the_earlier_segment() -> None:
    assert segments("  Hi.  Yes!\n你好。") == [
        Segment("Hi.", 0, 7),
        Segment("Yes!", 7, 12),
        Segment("你好。", 12, 15),
    ]


def test_space_that_arrives_after_a_segment_came_out_belongs_to_the_next() -> None:
    assert segments("Hi.\n  Yes.") == [Segment("Hi.", 0, 4), Segment("Yes.", 4, 10)]


def test_flush_gives_what_is_left_and_the_next_text_begins_a_sentence() -> None:
    segmenter = Segmenter()
    assert texts(segmenter.feed("(Hello, dear") + segmenter.flush()) == ["(Hello, dear"]
    assert texts(segmenter.feed("1. One is left. Two") + segmenter.flush()) == [
        "1. One is left.",
        "Two",
    ]


def test_after_a_flush_the_next_segment_is_not_a_short_first_one() -> None:
    segmenter = Segmenter()
    segmenter.feed("Yes")
    segmenter.flush()
    text = "Good morning, everybody."
    assert texts(segmenter.feed(text) + segmenter.flush()) == [text]


def test_a_flush_before_any_text_leaves_the_first_segment_short() -> None:
    segmenter = Segmenter()
    assert segmenter.flush() == []
    assert texts(segmenter.feed("Good morning, everybody.")) == ["Good morning,"]


def test_flush_decides_a_doubtful_full_stop_by_the_word_that_came() -> None:
    assert texts(segments("In the U.S. He")) == ["In the U.S.", "He"]
    assert texts(segments("In the U.S. Ho")) == ["In the U.S. Ho"]


def test_nothing_but_space_is_no_segment() -> None:
    segmenter = Segmenter()
    assert segmenter.feed(" \n\n ") + segmenter.flush() == []
    assert segmenter.feed("Hi.") + segmenter.flush() == [Segment("Hi.", 0, 7)]


def test_reset_drops_what_is_left_and_makes_the_first_segment_short_again() -> None:
    segmenter = Segmenter()
    segmenter.feed("Never said")
    segmenter.reset()
    assert segmenter.feed("Good morning, all.") == [Segment("Good morning,", 10, 24)]


@pytest.mark.parametrize(
    ("first_chars", "max_chars", "message"),
    [(0, 100, "first_chars"), (101, 100, "first_chars"), (1, MIN_MAX_CHARS - 1, "max_chars")],
)
def test_sizes_out_of_order_are_refused(first_chars: int, max_chars: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Segmenter(first_chars=first_chars, max_chars=max_chars)
