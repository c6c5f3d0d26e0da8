import pytest

from legato.speech.reading.english_numerals import cardinal, decade, digits, ordinal, year


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "zero"),
        ("13", "thirteen"),
        ("20", "twenty"),
        ("99", "ninety nine"),
        ("100", "one hundred"),
        ("1,001", "one thousand one"),
        ("2000017", "two million seventeen"),
        ("999999999999999", " ".join(
            f"nine hundred ninety nine{scale}"
            for scale in (" trillion", " billion", " million", " thousand", "")
        )),
        ("9" * 16, " ".join(["nine"] * 16)),
        ("007", "zero zero seven"),
        ("-2.50", "minus two point five zero"),
        ("−1", "minus one"),
        ("+3", "plus three"),
        (".5", "zero point five"),
    ],
)  # fmt: skip
def test_a_number_is_read(text: str, words: str) -> None:
    assert cardinal(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "first"),
        ("12", "twelfth"),
        ("20", "twentieth"),
        ("21", "twenty first"),
        ("100", "one hundredth"),
        ("4", "fourth"),
    ],
)
def test_a_rank_is_read(text: str, words: str) -> None:
    assert ordinal(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1984", "nineteen eighty four"),
        ("1905", "nineteen oh five"),
        ("1900", "nineteen hundred"),
        ("2000", "two thousand"),
        ("2009", "two thousand nine"),
        ("2010", "twenty ten"),
    ],
)
def test_a_year_is_read_in_pairs(text: str, words: str) -> None:
    assert year(text) == words


def test_a_decade_is_read_in_the_plural() -> None:
    assert [decade(d) for d in ("1990", "80", "1900", "10")] == [
        "nineteen nineties", "eighties", "nineteen hundreds", "tens",
    ]  # fmt: skip


def test_digits_are_read_one_by_one() -> None:
    assert digits("0-9²") == "zero nine"
