import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.engines.markup import LONGEST_WORD, letters_of, spoken, unread
from legato.speech.scripts import is_speakable


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("", ""),
        ("Plain text, with 1.5 numbers.", "Plain text, with 1.5 numbers."),
        ("# Title", "Title"),
        ("###### Deep", "Deep"),
        ("#1 of 3", "#1 of 3"),
        ("> > quoted", "quoted"),
        ("- one\n* two\n+ three\n• four", "one\ntwo\nthree\nfour"),
        ("- [x] done", "done"),
        ("1. first", "1. first"),
        ("**bold** and *light*, __strong__ ~~gone~~", "bold and light, strong gone"),
        ("***both***", "both"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name", "snake_case_name"),
        ("`code` and ``more``", "code and more"),
        ("```python\nx = 1\n```", "x = 1"),
        ("one\n\n---\n\ntwo", "one\n\n\n\ntwo"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "| a | b |\n\n| 1 | 2 |"),
        ("[docs](https://x.y/z)", "docs"),
        ("[docs](/docs/)", "docs"),
        ("![a cat](cat.png)", "a cat"),
        ("[1] and (2)", "[1] and (2)"),
    ],
)
def test_marks_for_the_eye_are_left_out(written: str, heard: str) -> None:
    assert spoken(written) == heard


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("Hello 👋🏽 world", "Hello world"),
        ("👨‍👩‍👧", ""),
        ("hmm🙂Great", "hmm Great"),
        ("🇩🇪 1️⃣ ❤️", "1"),
        ("→ next", "→ next"),
    ],
)
def test_emoji_are_left_out(written: str, heard: str) -> None:
    assert spoken(written) == heard


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("½ ² ™ … ª", "½ ² ™ … ª"),
        ("1⅓", "1 1/3"),
        ("℃ ㎏ Ⅷ", "°C kg VIII"),
        ("Ｈｉ\u00a0there", "Hi there"),
        ("𝐇𝐢", "Hi"),
        ("é e\u0301", "é e\u0301"),
    ],
)
def test_composed_signs_are_read_as_what_they_are_made_of(written: str, heard: str) -> None:
    assert spoken(written) == heard


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("¹a¹", "1a1"),
        ("x¹⁰", "x10"),
        ("❶ ➓", "1 10"),
        ("⓽⫚", "9 ⫚"),
        ("a❶b①②", "a 1 b 1 2"),
        ("௰", "10"),
        ("༳", "-1/2"),
        ("৴", "1/16"),
    ],
)
def test_numerals_are_read_by_their_value(written: str, heard: str) -> None:
    assert spoken(written) == heard


def test_no_letter_or_numeral_is_passed_over_in_silence() -> None:
    chars = map(chr, (*range(0xD800), *range(0xE000, 0x20000), 0x2A6DF, 0x2A6E0, 0x3FFFF))
    lost = [
        char
        for char in chars
        if is_speakable(char) and not is_speakable(spoken(char)) and unread(char) != char
    ]
    assert lost == []


def test_what_is_left_of_a_text_is_not_refused() -> None:
    assert unread("ｶﾞ Hello ❶ 👋") == ""
    assert unread("👋 ![](picture.png)") == ""
    assert unread("ﾞ") == "ﾞ"
    assert unread("Hello \U0002a6e0\U0002a6e0!") == "\U0002a6e0"


def test_letters_are_named_once() -> None:
    assert letters_of("a, a1 ⫚ é!") == "a1é"
    assert letters_of("abc", limit=2) == "ab"


def test_controls_and_codes_without_a_character_are_left_out() -> None:
    assert spoken("a\x00b\x1b[31m\ue000c\ud800d\r\ne") == "a b [31m c d \ne"


def test_a_number_too_long_for_one_is_read_digit_by_digit() -> None:
    assert spoken("123456789012345") == "123456789012345"
    assert spoken("1234567890123456") == "1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6"


def test_a_word_too_long_for_one_is_broken_up() -> None:
    assert spoken("a" * 100) == " ".join(["a" * 40, "a" * 40, "a" * 20])
    assert spoken("a" * LONGEST_WORD) == "a" * LONGEST_WORD


def test_scripts_without_spaces_are_not_broken_up() -> None:
    assert spoken("好" * 100) == "好" * 100


@given(st.text(max_size=200))
def test_any_text_can_be_made_speakable(text: str) -> None:
    heard = spoken(text)
    assert heard == heard.strip()
    assert "  " not in heard
