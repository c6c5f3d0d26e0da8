import itertools

import pytest

from legato.flow.abbreviations import Stop
from legato.flow.boundaries import (
    PAUSES,
    SENTENCE_MARKS,
    Boundary,
    Context,
    Mark,
    Verdict,
    begins_sentence,
    judge,
    stronger,
)
from legato.flow.breaks import Place
from legato.flow.punctuation import Kind, kind_of

PLAIN = Context(adjacent=True, open=False, address=False, lower_case=False)
WAIT, EXTEND, JOIN, PAUSE, CUT, WORD = Verdict
SPACES = {Kind.SPACE, Kind.NEWLINE}


def verdict(
    mark: Mark,
    char: str,
    *,
    context: Context = PLAIN,
    spaced: bool = False,
    closed: bool = False,
    bracketed: bool = False,
    numeric: bool = False,
    word: str | None = None,
) -> Verdict:
    boundary = Boundary(
        mark,
        Place(5, 5),
        nested=False,
        numeric=numeric,
        spaced=spaced,
        closed=closed,
        bracketed=bracketed,
        word=word,
    )
    kind = Kind.OPEN if char == '"' else kind_of(char)
    return judge(boundary, char, kind, context)


@pytest.mark.parametrize(
    ("mark", "verdicts"),
    [
        (Kind.STOP, {"A": CUT, "a": CUT, "5": CUT, "你": CUT, "(": CUT, "—": CUT, "，": JOIN}),
        (Kind.QUESTION, {"A": CUT, "a": CUT, "你": CUT, "=": JOIN, ",": JOIN}),
        (Kind.EXCLAMATION, {"A": CUT, "a": CUT, "你": CUT, "=": JOIN, ",": JOIN}),
        (Kind.ELLIPSIS, {"A": JOIN, "a": JOIN, "你": PAUSE}),
        (Stop.WORD, {"A": JOIN, "a": JOIN, "5": JOIN, "你": CUT, ",": JOIN}),
        (Stop.TITLE, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Stop.NUMBERED, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Stop.NAME, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Stop.LIST, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Kind.PAUSE, {"A": JOIN, "5": JOIN, "/": JOIN, "你": PAUSE}),
        (Kind.WIDE_PAUSE, {"A": PAUSE, "5": PAUSE, "你": PAUSE, "。": JOIN, "—": JOIN}),
        (Kind.DASH, {"A": PAUSE, "a": PAUSE, "你": PAUSE, "—": JOIN}),
        (Kind.ENUMERATION, {"A": PAUSE, "你": PAUSE}),
    ],
)
def test_a_character_that_touches_the_mark_decides(
    mark: Mark, verdicts: dict[str, Verdict]
) -> None:
    assert {char: verdict(mark, char) for char in verdicts} == verdicts


@pytest.mark.parametrize(
    ("mark", "verdicts"),
    [
        (Kind.STOP, {"A": CUT, "a": CUT, "5": CUT, "你": CUT, "(": WAIT, "-": WAIT}),
        (Kind.QUESTION, {"A": CUT, "a": CUT, "5": CUT, "你": CUT, '"': WAIT}),
        (Kind.EXCLAMATION, {"A": CUT, "a": JOIN, "5": CUT, "你": CUT}),
        (Kind.ELLIPSIS, {"A": CUT, "a": JOIN, "5": CUT, "你": CUT}),
        (Stop.WORD, {"A": CUT, "a": JOIN, "5": CUT, "你": CUT, "ا": CUT, "(": WAIT, ":": WAIT}),
        (Stop.TITLE, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN, "(": JOIN}),
        (Stop.NUMBERED, {"A": CUT, "a": JOIN, "5": JOIN, "你": CUT, "(": WAIT}),
        (Stop.NAME, {"A": WORD, "T": WORD, "Q": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Stop.LIST, {"A": JOIN, "a": JOIN, "5": JOIN, "你": JOIN}),
        (Kind.NEWLINE, {"A": CUT, "a": JOIN, "5": CUT, "你": CUT, "-": CUT, ".": CUT, "(": WAIT}),
        (Kind.PAUSE, {"A": PAUSE, "5": PAUSE, "你": PAUSE}),
    ],
)
def test_a_character_behind_the_mark_and_a_space_decides(
    mark: Mark, verdicts: dict[str, Verdict]
) -> None:
    assert {char: verdict(mark, char, spaced=True) for char in verdicts} == verdicts


def test_every_mark_has_a_verdict_for_every_character() -> None:
    marks = SENTENCE_MARKS - {Kind.DOT} | PAUSES
    found = {
        verdict(mark, char, spaced=spaced)
        for mark, char, spaced in itertools.product(
            marks, "Aa5ا你。.?!…,，—、(）”’*😀$", (False, True)
        )
    }
    assert found == set(Verdict)


@pytest.mark.parametrize("char", ".?!…。)”'*😀")
def test_closing_marks_and_more_terminators_touching_a_mark_belong_to_it(char: str) -> None:
    assert verdict(Stop.WORD, char) is EXTEND


@pytest.mark.parametrize(("mark", "char"), [(Kind.PAUSE, "."), (Kind.DASH, "。")])
def test_a_terminator_behind_a_clause_mark_begins_anew(mark: Mark, char: str) -> None:
    assert verdict(mark, char) is JOIN


@pytest.mark.parametrize("char", ".?😀")
def test_terminators_and_emoji_behind_a_space_belong_to_the_mark(char: str) -> None:
    assert verdict(Stop.WORD, char, spaced=True) is EXTEND


def test_a_closing_mark_behind_a_space_belongs_to_the_mark_only_if_something_is_open() -> None:
    is_open = Context(adjacent=True, open=True, address=False, lower_case=False)
    assert verdict(Stop.WORD, "»", spaced=True, context=is_open) is EXTEND
    assert verdict(Stop.WORD, "»", spaced=True) is WAIT
    assert verdict(Stop.WORD, "'", spaced=True, context=is_open) is WAIT


def test_behind_opening_quotes_nothing_belongs_to_the_mark_any_more() -> None:
    behind_quote = Context(adjacent=False, open=True, address=False, lower_case=False)
    assert verdict(Stop.WORD, "…", spaced=True, context=behind_quote) is WAIT


def test_a_bracket_does_not_end_the_sentence_of_the_text_that_touches_it() -> None:
    assert verdict(Kind.STOP, "你", closed=True, bracketed=True) is JOIN
    assert verdict(Kind.STOP, "你", closed=True) is CUT


def test_a_number_with_a_clause_mark_goes_on_with_a_digit() -> None:
    assert verdict(Kind.PAUSE, "2", numeric=True, spaced=True) is JOIN
    assert verdict(Kind.WIDE_PAUSE, "2", numeric=True) is JOIN
    assert verdict(Kind.WIDE_PAUSE, "2") is PAUSE
    assert verdict(Stop.WORD, "2", numeric=True, spaced=True) is CUT


@pytest.mark.parametrize("mark", [Kind.QUESTION, Kind.EXCLAMATION, Stop.WORD])
def test_a_small_letter_after_a_closing_quote_goes_on(mark: Mark) -> None:
    assert verdict(mark, "h", spaced=True, closed=True) is JOIN


def test_who_begins_a_sentence_with_a_small_letter_may_do_so_again() -> None:
    small = Context(adjacent=True, open=False, address=False, lower_case=True)
    assert verdict(Stop.WORD, "h", spaced=True, context=small) is CUT
    assert verdict(Stop.WORD, "h", context=small) is JOIN
    assert verdict(Stop.NUMBERED, "h", spaced=True, context=small) is JOIN


def test_a_question_mark_in_an_address_ends_nothing() -> None:
    address = Context(adjacent=True, open=False, address=True, lower_case=False)
    assert verdict(Kind.QUESTION, "i", context=address) is JOIN
    assert verdict(Kind.QUESTION, "我", context=address) is CUT
    assert verdict(Kind.STOP, "i", context=address) is CUT


@pytest.mark.parametrize(
    ("word", "char", "expected"),
    [
        ("t", "h", WAIT),
        ("t", "H", WAIT),
        ("th", "x", JOIN),
        ("the", " ", CUT),
        ("it", "'", CUT),
        ("i", ".", JOIN),
        ("a", "4", JOIN),
        ("th", "-", JOIN),
    ],
)
def test_a_word_after_a_doubtful_stop_decides_as_soon_as_it_is_known(
    word: str, char: str, expected: Verdict
) -> None:
    if char == " ":
        assert begins_sentence(word) is expected
    else:
        assert verdict(Stop.NAME, char, spaced=True, word=word) is expected


@pytest.mark.parametrize(
    ("mark", "kind", "expected"),
    [
        (Stop.WORD, Kind.DOT, Kind.ELLIPSIS),
        (Stop.WORD, Kind.QUESTION, Kind.QUESTION),
        (Kind.ELLIPSIS, Kind.DOT, Kind.ELLIPSIS),
        (Kind.EXCLAMATION, Kind.QUESTION, Kind.QUESTION),
        (Kind.QUESTION, Kind.EXCLAMATION, Kind.QUESTION),
        (Kind.QUESTION, Kind.DOT, Kind.QUESTION),
        (Kind.STOP, Kind.ELLIPSIS, Kind.STOP),
        (Kind.ELLIPSIS, Kind.STOP, Kind.STOP),
    ],
)
def test_of_several_terminators_the_strongest_counts(
    mark: Mark, kind: Kind, expected: Mark
) -> None:
    assert stronger(mark, kind) is expected
