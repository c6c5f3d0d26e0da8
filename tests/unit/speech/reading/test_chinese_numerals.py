import pytest

from legato.speech.reading.chinese_numerals import cardinal, digits, quantity, telephone


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "零"),
        ("10", "十"),
        ("12", "十二"),
        ("20", "二十"),
        ("101", "一百零一"),
        ("110", "一百一十"),
        ("1010", "一千零一十"),
        ("2,200", "两千二百"),
        ("10000", "一万"),
        ("20010", "两万零一十"),
        ("100005", "十万零五"),
        ("120000", "十二万"),
        ("200000", "二十万"),
        ("10001000", "一千万一千"),
        ("100000001", "一亿零一"),
        ("200001234", "两亿零一千二百三十四"),
        ("123456789012345", "一百二十三万亿四千五百六十七亿八千九百零一万两千三百四十五"),
        ("1234567890123456", "一二三四五六七八九零一二三四五六"),
        ("007", "零零七"),
        ("-3.14", "负三点一四"),
        ("+2", "正二"),
        (".5", "零点五"),
    ],
)
def test_a_number_is_read(text: str, words: str) -> None:
    assert cardinal(text) == words


def test_two_of_something_is_liang() -> None:
    assert [quantity(n) for n in ("2", "12", "2.5")] == ["两", "十二", "二点五"]


def test_digits_are_read_one_by_one() -> None:
    assert digits("201²") == "二零一"
    assert telephone("110") == "幺幺零"
