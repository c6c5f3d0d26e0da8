import pytest

from legato.speech.reading.instructions import say_as


@pytest.mark.parametrize(
    ("text", "kind", "language", "words"),
    [
        ("A1 b", "characters", "en", "A one b"),
        ("A1", "spell-out", "zh", "A 一"),
        ("1,200", "cardinal", "en", "one thousand two hundred"),
        ("-5", "number", "zh", "负五"),
        ("3rd", "ordinal", "en", "third"),
        ("第3", "ordinal", "zh", "第三"),
        ("05", "ordinal", "en", "fifth"),
        ("12 3", "digits", "en", "one two three"),
        ("12", "digits", "zh", "一二"),
        ("+1 (555) 12", "telephone", "en", "plus one, five five five, one two"),
        ("+86 110", "telephone", "zh", "加八六，幺幺零"),
        ("110", "telephone", "zh", "幺幺零"),
        ("2024-5-1", "date", "en", "May first, twenty twenty four"),
        ("2024-5-1", "date", "zh", "二零二四年五月一日"),
    ],
)
def test_text_is_read_as_it_is_said_to_be(text: str, kind: str, language: str, words: str) -> None:
    assert say_as(text, kind, language=language) == words


@pytest.mark.parametrize(
    ("text", "form", "english", "chinese"),
    [
        ("3/4/2024", "mdy", "March fourth, twenty twenty four", "二零二四年三月四日"),
        ("3.4.2024", "dmy", "April third, twenty twenty four", "二零二四年四月三日"),
        ("5/2024", "my", "May, twenty twenty four", "二零二四年五月"),
        ("5/1", "md", "May first", "五月一日"),
        ("1999", "y", "nineteen ninety nine", "一九九九年"),
    ],
)
def test_a_date_is_read_in_the_order_of_its_format(
    text: str, form: str, english: str, chinese: str
) -> None:
    assert say_as(text, "date", language="en", form=form) == english
    assert say_as(text, "date", language="zh", form=form) == chinese


@pytest.mark.parametrize(
    ("text", "kind", "form", "why"),
    [
        ("x", "cardinal", "", "not a number"),
        ("", "cardinal", "", "not a number"),
        ("1.5", "ordinal", "", "not a whole number"),
        ("1x", "digits", "", "not digits"),
        ("x", "telephone", "", "not a telephone number"),
        ("5", "date", "", "not a date"),
        ("2024-13-1", "date", "", "not a date"),
        ("24-1-1", "date", "", "not a date"),
        ("5", "date", "dd", "is not known"),
        ("5", "cardinal", "md", 'belongs to interpret-as="date"'),
        ("5", "vulgar", "", "is not known"),
    ],
)
def test_what_cannot_be_read_so_is_refused(text: str, kind: str, form: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        say_as(text, kind, language="en", form=form)
