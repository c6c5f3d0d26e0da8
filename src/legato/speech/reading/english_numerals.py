"""English number words, in the American manner: without "and", without hyphens."""

from __future__ import annotations

from typing import Final

_SMALL: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = [
    "_",
    "_",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
]
_SCALES: Final = ("", " thousand", " million", " billion", " trillion")
_ORDINALS: Final = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
LONGEST: Final = 15
"""Digits of the longest number that is read as one; longer ones are read digit by digit."""


def digits(text: str) -> str:
    """Read each digit of `text` by itself; what is no digit is left out."""
    return " ".join(_SMALL[int(char)] for char in text if char.isdecimal())


def cardinal(text: str) -> str:
    """Read a number of ASCII digits, which may have commas, a sign and a decimal point.

    A number that begins with a needless zero, or is longer than `LONGEST`, is read by digits.
    """
    text = text.replace(",", "")
    if text[:1] in "+-−":
        return ("plus " if text[0] == "+" else "minus ") + cardinal(text[1:])
    whole, point, fraction = text.partition(".")
    if point:
        return f"{cardinal(whole or '0')} point {digits(fraction)}"
    if len(whole) > LONGEST or (len(whole) > 1 and whole[0] == "0"):
        return digits(whole)
    return _whole(int(whole))


def ordinal(text: str) -> str:
    """Read a whole number as a rank: 21 is twenty first."""
    head, space, last = cardinal(text).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return head + space + last


def year(text: str) -> str:
    """Read four digits as a year: 1984 is nineteen eighty four, 2005 two thousand five."""
    century, rest = int(text[:2]), int(text[2:])
    if century % 10 == 0 and rest < 10:
        return cardinal(text)
    if rest == 0:
        return f"{_whole(century)} hundred"
    between = " oh " if rest < 10 else " "
    return f"{_whole(century)}{between}{_whole(rest)}"


def decade(text: str) -> str:
    """Read the digits of a decade: 1990 is nineteen nineties, 80 eighties."""
    words = year(text) if len(text) > 2 else _whole(int(text))
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _whole(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    groups: list[str] = []
    for scale in _SCALES:
        number, group = divmod(number, 1000)
        if group:
            groups.insert(0, _below_thousand(group) + scale)
    return " ".join(groups)


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        words.append(_TENS[rest // 10])
        rest %= 10
    if rest:
        words.append(_SMALL[rest])
    return " ".join(words)
