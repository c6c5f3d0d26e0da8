"""Text read as SSML's `say-as` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from legato.speech.reading import chinese_numerals, english_numerals
from legato.speech.reading.english_words import MONTHS

_FORMATS: Final = frozenset({"ymd", "mdy", "dmy", "ym", "my", "md", "dm", "y"})
_LAST: Final = {"y": 9999, "m": 12, "d": 31}
_NUMBER: Final = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?", re.ASCII)
_WHOLE: Final = re.compile(r"\d{1,15}", re.ASCII)
_TELEPHONE: Final = re.compile(r"\+?[\s().-]*+\d[\d\s().-]*+", re.ASCII)


def say_as(text: str, kind: str, *, language: str, form: str = "") -> str:
    """Return the words for `text`.

    Args:
        text: What is written.
        kind: One of `KINDS`.
        language: Primary tag: "zh", or anything else for English.
        form: Order of a date's parts, such as "mdy"; "" for year, month and day.

    Raises:
        ValueError: If `text` is not of this kind, or there is no such kind; says why.
    """
    text = " ".join(text.split())
    if kind not in KINDS:
        raise ValueError(f'interpret-as="{kind[:40]}" is not known; take one of {", ".join(KINDS)}')
    if form and kind != "date":
        raise ValueError(f'format="{form[:40]}" belongs to interpret-as="date" only')
    if kind == "date":
        return _date(text, form or "ymd", chinese=language == "zh")
    return _KINDS[kind](text, language == "zh")


def _characters(text: str, chinese: bool) -> str:
    digits = chinese_numerals.digits if chinese else english_numerals.digits
    return " ".join(digits(char) if char in "0123456789" else char for char in text if char != " ")


def _cardinal(text: str, chinese: bool) -> str:
    _must(_NUMBER.fullmatch(text), text, "a number")
    return chinese_numerals.cardinal(text) if chinese else english_numerals.cardinal(text)


def _ordinal(text: str, chinese: bool) -> str:
    bare = re.sub(r"^第|(?:st|[nr]d|th)$", "", text)
    _must(_WHOLE.fullmatch(bare), text, "a whole number")
    bare = str(int(bare))
    return "第" + chinese_numerals.cardinal(bare) if chinese else english_numerals.ordinal(bare)


def _digits(text: str, chinese: bool) -> str:
    _must(text.replace(" ", "").isascii() and text.replace(" ", "").isdigit(), text, "digits")
    return chinese_numerals.digits(text) if chinese else english_numerals.digits(text)


def _telephone(text: str, chinese: bool) -> str:
    _must(_TELEPHONE.fullmatch(text), text, "a telephone number")
    read = chinese_numerals.telephone if chinese else english_numerals.digits
    plus = ("加" if chinese else "plus ") if text.startswith("+") else ""
    return plus + ("，" if chinese else ", ").join(map(read, re.findall(r"\d+", text)))


def _date(text: str, form: str, *, chinese: bool) -> str:
    if form not in _FORMATS:
        raise ValueError(
            f'format="{form[:40]}" is not known; take one of {", ".join(sorted(_FORMATS))}'
        )
    numbers = re.findall(r"[0-9]+", text)
    _must(len(numbers) == len(form), text, f'a date of format="{form}"')
    parts = dict(zip(form, numbers, strict=True))
    fits = all(1 <= int(value) <= _LAST[part] for part, value in parts.items())
    _must(fits and len(parts.get("y", "2000")) == 4, text, f'a date of format="{form}"')
    return _chinese_date(parts) if chinese else _english_date(parts)


def _chinese_date(parts: Mapping[str, str]) -> str:
    year = f"{chinese_numerals.digits(parts['y'])}年" if "y" in parts else ""
    month = f"{chinese_numerals.cardinal(str(int(parts['m'])))}月" if "m" in parts else ""
    day = f"{chinese_numerals.cardinal(str(int(parts['d'])))}日" if "d" in parts else ""
    return year + month + day


def _english_date(parts: Mapping[str, str]) -> str:
    month = MONTHS[int(parts["m"]) - 1] if "m" in parts else ""
    day = f" {english_numerals.ordinal(str(int(parts['d'])))}" if "d" in parts else ""
    year = english_numerals.year(parts["y"]) if "y" in parts else ""
    return ", ".join(filter(None, (month + day, year)))


def _must(holds: object, text: str, what: str) -> None:
    if not holds:
        raise ValueError(f"{text[:40]!r} is not {what}")


_KINDS: Final[Mapping[str, Callable[[str, bool], str]]] = {
    "characters": _characters,
    "spell-out": _characters,
    "cardinal": _cardinal,
    "number": _cardinal,
    "ordinal": _ordinal,
    "digits": _digits,
    "telephone": _telephone,
}
KINDS: Final = (*_KINDS, "date")
"""What `interpret-as` may be."""
