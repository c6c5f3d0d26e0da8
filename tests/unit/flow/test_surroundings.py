import pytest

from legato.flow.punctuation import Kind, kind_of, size_of
from legato.flow.surroundings import NESTED_CHARS, SHORT_LINE_COLUMNS, WORD_CHARS, Surroundings


def after(text: str) -> Surroundings:
    around = Surroundings()
    read(around, text)
    return around


def read(around: Surroundings, text: str) -> None:
    for char in text:
        around.read(char, around.role(char, kind_of(char)), size_of(char))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("in the U.S", "U.S"),
        ("(e.g", "e.g"),
        ("Bob's", "Bob's"),
        ("我用Node.js", "Node.js"),
        ("Node.js你", ""),
        ("well-known", "known"),
        ("km/h", "/h"),
        ("the ", ""),
        ("ne\u0301e", "nee"),
        ("**Dr", "Dr"),
        ("x" * 99, "x" * WORD_CHARS),
    ],
)
def test_the_word_is_what_touches_the_next_character(text: str, word: str) -> None:
    assert after(text).word == word


@pytest.mark.parametrize("text", ["1", "• 1", "text\n1", "steps: 1", "步骤：1", "(1", "'1"])
def test_the_first_word_of_a_text_or_line_or_after_a_colon_leads(text: str) -> None:
    assert after(text).leads


@pytest.mark.parametrize("text", ["at 1", "text, 1", "7:30", "第1", "1. 2"])
def test_any_other_word_does_not_lead(text: str) -> None:
    assert not after(text).leads


def test_the_first_word_of_a_new_sentence_leads() -> None:
    around = after("It is. ")
    around.end_sentence()
    read(around, "2")
    assert around.leads


def test_a_new_sentence_may_begin_with_the_word_that_was_read() -> None:
    around = after("in the U.S. The")
    around.end_sentence()
    around.begin_with_word()
    assert (around.leads, around.lower_case, around.word) == (True, False, "The")
    read(around, " 2")
    assert not around.leads


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://a", True),
        ("me@example", True),
        ("a=b", True),
        ("https://a b", False),
        ("https://a你", False),
        ("plain", False),
    ],
)
def test_a_sign_of_addresses_marks_the_characters_up_to_the_next_space(
    text: str, *, address: bool
) -> None:
    assert after(text).address is address


@pytest.mark.parametrize(
    ("text", "lower_case"),
    [("", None), ("12 ", None), ("12 you", True), ("You and i", False), ("你好", None)],
)
def test_the_first_letter_tells_whether_a_sentence_begins_small(
    text: str, *, lower_case: bool | None
) -> None:
    assert after(text).lower_case is lower_case


@pytest.mark.parametrize(
    ("before", "role"),
    [
        ("", Kind.OPEN),
        ("he said ", Kind.OPEN),
        ('"', Kind.OPEN),
        ("他说", Kind.OPEN),
        ('he said "no', Kind.CLOSE_QUOTE),
        ('he said "no.', Kind.CLOSE_QUOTE),
        ('he said "no ', Kind.OPEN),
        ("he is 5'10", Kind.SYMBOL),
        ('the "5', Kind.CLOSE_QUOTE),
    ],
)
def test_an_ascii_quote_opens_closes_or_means_inches(before: str, role: Kind) -> None:
    assert after(before).role('"', Kind.QUOTE) is role


@pytest.mark.parametrize(("before", "role"), [(":", Kind.SYMBOL), ("f", Kind.OPEN)])
def test_a_bracket_after_a_colon_is_a_sad_face(before: str, role: Kind) -> None:
    assert after(before).role("(", Kind.OPEN) is role


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("a (b", True),
        ("a (b)", False),
        ("a ((b)", True),
        ('a "b', True),
        ('a "b"', False),
        ("他说“好", True),
        ("他说“好”", False),
        ("smile :) and", False),
        (") (", True),
    ],
)
def test_what_was_opened_is_open_until_it_is_closed(text: str, *, is_open: bool) -> None:
    assert after(text).open is is_open


def test_a_long_bracket_is_open_but_no_longer_nested() -> None:
    assert after("(" + "x" * NESTED_CHARS).nested
    around = after("(" + "x" * (NESTED_CHARS + 1))
    assert around.open
    assert not around.nested


def test_the_end_of_a_paragraph_closes_everything() -> None:
    around = after('a ("b')
    around.end_paragraph()
    assert not around.open
    assert around.lower_case is None


def test_a_line_is_short_up_to_a_width_in_which_an_ideograph_takes_two_columns() -> None:
    assert after("x" * (SHORT_LINE_COLUMNS - 1)).in_short_line
    assert not after("x" * SHORT_LINE_COLUMNS).in_short_line
    assert not after("你" * (SHORT_LINE_COLUMNS // 2)).in_short_line
    assert after("x" * SHORT_LINE_COLUMNS + "\n").in_short_line


def test_newlines_are_counted_since_the_last_visible_character() -> None:
    assert after("a\n \n").newlines == 2
    assert after("a\n\nb").newlines == 0
