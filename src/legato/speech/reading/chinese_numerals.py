"""Chinese number words."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = "零一二三四五六七八九"
_PLACES: Final = ("", "十", "百", "千")
_MYRIADS: Final = ("", "万", "亿", "万亿")
LONGEST: Final = 15
"""Digits of the longest number that is read as one; longer ones are read digit by digit."""


def digits(text: str) -> str:
    """Read each digit of `text` by itself; what is no digit is left out."""
    return "".join(_DIGITS[int(char)] for char in text if char.isdecimal())


def telephone(text: str) -> str:
    """Read each digit as on the telephone, where one is 幺."""
    return digits(text).replace("一", "幺")


def cardinal(text: str) -> str:
    """Read a number of ASCII digits, which may have commas, a sign and a decimal point.

    A number that begins with a needless zero, or is longer than `LONGEST`, is read by digits.
    """
    text = text.replace(",", "")
    if text[:1] in "+-−":
        return ("正" if text[0] == "+" else "负") + cardinal(text[1:])
    whole, point, fraction = text.partition(".")
    if point:
        return f"{cardinal(whole or '0')}点{digits(fraction)}"
    if len(whole) > LONGEST or (len(whole) > 1 and whole[0] == "0"):
        return digits(whole)
    return _whole(whole)


def quantity(text: str) -> str:
    """Read a number before a measure word: 2 is 两."""
    return "两" if text == "2" else cardinal(text)


def _whole(text: str) -> str:
    number = int(text)
    if number == 0:
        return "零"
    words, gap = "", False
    for myriad in reversed(range(len(_MYRIADS))):
        group = number // 10_000**myriad % 10_000
        if not group:
            gap = gap or bool(words)
            continue
        if words and (gap or group < 1000):
            words += "零"
        words += _below_myriad(group, first=not words, scaled=myriad > 0) + _MYRIADS[myriad]
        gap = False
    return words


def _below_myriad(number: int, *, first: bool, scaled: bool) -> str:
    if scaled and number == 2:
        return "两"
    words, gap = "", False
    for place in reversed(range(4)):
        digit = number // 10**place % 10
        if not digit:
            gap = bool(words)
            continue
        if gap:
            words += "零"
        gap = False
        words += "两千" if (digit, place) == (2, 3) else _DIGITS[digit] + _PLACES[place]
    if first and words.startswith("一十"):
        return words[1:]
    return words
