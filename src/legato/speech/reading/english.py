"""English text with its numbers, dates, sums, units and abbreviations written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from legato.speech.reading.addresses import ADDRESS, address
from legato.speech.reading.english_numerals import cardinal, decade, digits, ordinal, year
from legato.speech.reading.english_words import (
    ABBREVIATIONS,
    MONEY,
    MONTH_OF,
    MONTHS,
    NUMBERED,
    ROMANS,
    SCALES,
    TITLES,
    UNITS,
    WEEKDAYS,
)

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _any(words: Iterable[str]) -> str:
    """Return a pattern for any of `words`, the longest that fits."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NUMBER: Final = r"(?<!\d)(?:\d{1,3}(?:,\d{3}){1,50}+(?!\d)|\d++)(?:\.\d++)?"
"""Groups have a bound, as a list of them is tried from each of its members."""
_TO: Final = r"\s?[-–~]\s?"
_MONTH: Final = rf"\b({_any(MONTH_OF)})\b\.?"
_YEAR: Final = r"(1[1-9]\d\d|20\d\d)"
_RANK: Final = r"(?:st|[nr]d|th)"
_SCALE: Final = rf"(?:\s?(thousand|million|billion|trillion)\b|((?i:{_any(SCALES)}))\b)?"
_SYMBOLS: Final = _any(sign for sign in MONEY if not sign.isalpha())
_CODES: Final = _any(sign for sign in MONEY if sign.isalpha())
_NEEDED: Final = re.compile(
    r"\A[^.]*+\.\W*+\w|[\d=&@%±×÷]|\.(?:(?<=[^\W\d_]\.\w\.)|"
    + "|".join(rf"(?<=\b{re.escape(word)}\.)" for word in ABBREVIATIONS)
    + r")|://|\bvs\b|\b[IVX]{2,}\b"
)
"""What a text has that may have to be written out; most have none of it."""

_RULERS: Final = (
    "Alexander|Benedict|Catherine|Charles|Edward|Elizabeth|Francis|Frederick|George|Henry|James"
    "|John|Louis|Napoleon|Nicholas|Paul|Peter|Philip|Pius|Richard|Wilhelm|William"
)
_BOUNDS: Final = {"max": "maximum", "min": "minimum", "avg": "average"}
_PERIODS: Final = {
    "mo": "month",
    "month": "month",
    "yr": "year",
    "year": "year",
    "wk": "week",
    "week": "week",
    "day": "day",
    "hr": "hour",
    "hour": "hour",
    "person": "person",
}
_NAMED_FRACTIONS: Final = {2: ("half", "halves"), 4: ("quarter", "quarters")}
_DENOMINATORS: Final = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 100})
_SIGNS: Final = {"+": "plus", "×": "times", "*": "times", "÷": "divided by", "-": "minus"}


def english(text: str, *, day_first: bool = False) -> str:
    """Return English text as it is read out; text that needs nothing is returned as it is.

    Args:
        text: One segment.
        day_first: Whether 3/4/2024 is in April, as outside North America.
    """
    if not _NEEDED.search(text):
        return text
    dates = _DAY_FIRST if day_first else _MONTH_FIRST
    for pattern, read in (*_BEFORE_DATES, dates, *_AFTER_DATES):
        text = pattern.sub(read, text)
    return text


def _keep_stop(found: re.Match[str], words: str) -> str:
    """Return `words` with the full stop that ends the text as well as the abbreviation."""
    ends = found.group().endswith(".") and not found.string[found.end() :].strip(" \"')”’")
    return words + "." * ends


def _abbreviation(found: re.Match[str]) -> str:
    return _keep_stop(found, ABBREVIATIONS[found[1]])


def _time(found: re.Match[str]) -> str:
    hour, minute, second = cardinal(str(int(found[1]))), found[2], found[3]
    if second:
        parts = ((found[1], "hour"), (minute, "minute"), (second, "second"))
        return " ".join(_amount(str(int(n)), (unit, unit + "s")) for n, unit in parts)
    half = f" {found[4].upper()} M" if found[4] else ""
    if minute == "00":
        plain = "" if half else " o'clock" if int(found[1]) <= 12 else " hundred"
        words = hour + plain
    else:
        words = f"{hour} {'oh ' * (minute[0] == '0')}{cardinal(str(int(minute)))}"
    return _keep_stop(found, words + half)


def _hour(found: re.Match[str]) -> str:
    return _keep_stop(found, f"{cardinal(found[1])} {found[2].upper()} M")


def _date(month: str, day: str, year_digits: str | None) -> str:
    if len(year_digits or "") == 2:
        year_digits = f"20{year_digits}"
    return f"{month} {ordinal(day)}" + (f", {year(year_digits)}" if year_digits else "")


def _numeric_date(whole: str, month: str, day: str, year_digits: str) -> str:
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return whole
    return _date(MONTHS[int(month) - 1], str(int(day)), year_digits)


def _month_first(found: re.Match[str]) -> str:
    month, day = (found[2], found[1]) if int(found[1]) > 12 else (found[1], found[2])
    return _numeric_date(found[0], month, day, found[3])


def _day_first(found: re.Match[str]) -> str:
    day, month = (found[2], found[1]) if int(found[2]) > 12 else (found[1], found[2])
    return _numeric_date(found[0], month, day, found[3])


def _day_of_month(found: re.Match[str]) -> str:
    words = f"the {ordinal(found[2])} of {MONTH_OF[found[3]]}"
    return words + (f", {year(found[4])}" if found[4] else "")


def _money(found: re.Match[str]) -> str:
    minus, sign, amount, more, scale = found[1], found[2], found[3], found[4], found[5] or found[6]
    return ("minus " if minus else "") + _sum(amount, sign, more=more, scale=scale)


def _money_after(found: re.Match[str]) -> str:
    return _sum(found[1], found[3], more=None, scale=found[2])


def _sum(amount: str, sign: str, *, more: str | None, scale: str | None) -> str:
    one, many, cent, cents = MONEY[sign]
    scale = SCALES.get((scale or "").lower(), scale)
    whole, _, hundredths = amount.replace(",", "").partition(".")
    if more:
        words = f"{cardinal(amount)} to {cardinal(more)}"
        return f"{words} {scale} {many}" if scale else f"{words} {many}"
    if scale:
        return f"{cardinal(amount)} {scale} {many}"
    if len(hundredths) != 2 or not cent:
        return _amount(amount, (one, many))
    parts = [_amount(whole, (one, many))] if any(map(int, whole)) or not int(hundredths) else []
    if int(hundredths):
        parts.append(_amount(str(int(hundredths)), (cent, cents)))
    return " and ".join(parts)


def _amount(number: str, names: tuple[str, str]) -> str:
    return f"{cardinal(number)} {names[number != '1']}"


def _unit(found: re.Match[str]) -> str:
    number, more, names = found[1], found[2], UNITS[found[3]]
    if more:
        return f"{cardinal(number)} to {_amount(more, names)}"
    return _amount(number, names)


def _telephone(found: re.Match[str]) -> str:
    groups = ", ".join(map(digits, re.findall(r"\d+", found[0])))
    return f"plus {groups}" if found[0].startswith("+") else groups


def _fraction(found: re.Match[str]) -> str:
    whole, top, bottom = found[1], int(found[2]), int(found[3])
    if bottom not in _DENOMINATORS or top >= bottom:
        return f"{whole or ''} {cardinal(found[2])} {cardinal(found[3])}".strip()
    rank = ordinal(str(bottom))
    words = f"{cardinal(str(top))} {_NAMED_FRACTIONS.get(bottom, (rank, rank + 's'))[top != 1]}"
    return f"{cardinal(whole)} and {words}" if whole else words


def _range(found: re.Match[str]) -> str:
    years = all(re.fullmatch(_YEAR, end) for end in found.groups())
    read = year if years else cardinal
    return f"{read(found[1])} to {read(found[2])}"


def _dotted(found: re.Match[str]) -> str:
    parts = found[0].split(".")
    if len(parts) == 4:
        return " dot ".join(map(digits, parts))
    return " point ".join(map(cardinal, parts))


def _rule(pattern: str, read: Callable[[re.Match[str]], str] | str) -> _Rule:
    replace = (lambda found: found.expand(read)) if isinstance(read, str) else read
    return re.compile(pattern), replace


_SLASHED: Final = r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])"
_MONTH_FIRST: Final = _rule(_SLASHED, _month_first)
_DAY_FIRST: Final = _rule(_SLASHED, _day_first)
_BEFORE_DATES: Final = (
    (re.compile(ADDRESS, re.ASCII | re.IGNORECASE), lambda m: address(m[0], "en", digits)),
    _rule(r"\b([A-Z]\w+ )St\.(?=\s)", r"\1Street"),
    _rule(rf"\b({_any(TITLES)})\.(?=\s+(?:[A-Z]|and\b))", lambda m: TITLES[m[1]]),
    _rule(rf"\b({_any(NUMBERED)})\.\s*(?=\d)", lambda m: NUMBERED[m[1]] + " "),
    _rule(r"#(?=\d)", "number "),
    _rule(r"\b([Vv]ersion )?v(?=\d)", lambda m: m[1] or "version "),
    _rule(rf"\best\.\s+{_YEAR}\b", lambda m: f"established {year(m[1])}"),
    _rule(r"(?<!\d)(?<!\d\s)\b(max|min|avg)\.(?=\s)", lambda m: _BOUNDS[m[1]]),
    _rule(rf"(?<=\d)/({_any(_PERIODS)})\b(?:\.(?=\s+[a-z]))?", lambda m: f" per {_PERIODS[m[1]]}"),
    _rule(r"\b(e\.g|i\.e|etc)\.", _abbreviation),
    _rule(r"\b(vs)\b\.?", _abbreviation),
    _rule(rf"\b({_any(ABBREVIATIONS)})\.(?=[\s,;:!?\"')]|$)", _abbreviation),
    _rule(r"\b(Chapter|Part|Volume|Act|War|Phase|Type|Section|Book|Appendix|Article|Class|Level)"
          rf" ({_any(ROMANS)})\b(?!\.\w|')", lambda m: f"{m[1]} {cardinal(ROMANS[m[2]])}"),
    _rule(rf"\b({_RULERS}) ({_any(ROMANS)})\b(?!\.\w|')",
          lambda m: f"{m[1]} the {ordinal(ROMANS[m[2]])}"),
    _rule(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?!\d|:\d)"
          r"(?:\s?([AaPp])(?:m\b|M\b|\.m\.|\.M\.))?", _time),
    _rule(r"(?<![\d:.])(\d{1,2})\s?([AaPp])(?:m\b|M\b|\.m\.|\.M\.)", _hour),
)  # fmt: skip
_AFTER_DATES: Final = (
    _rule(r"(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])",
          lambda m: _numeric_date(m[0], m[2], m[3], m[1])),
    _rule(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d.]\d|\d)", _day_first),
    _rule(rf"{_MONTH}\s+(\d{{1,2}}){_RANK}?(?![\d:%])(?:,?\s+{_YEAR}\b)?",
          lambda m: _date(MONTH_OF[m[1]], m[2], m[3])),
    _rule(rf"(\bthe\s+)?(?<![\d.,$€£])(\d{{1,2}}){_RANK}?\s+{_MONTH}(?:,?\s+{_YEAR}\b)?",
          _day_of_month),
    _rule(rf"{_MONTH},?\s+{_YEAR}\b", lambda m: f"{MONTH_OF[m[1]]} {year(m[2])}"),
    _rule(rf"\b({_any(WEEKDAYS)})\.(?=,?\s+\w)", lambda m: WEEKDAYS[m[1]]),
    _rule(rf"\b({_any(MONTH_OF)})\.(?=\s+\w)", lambda m: MONTH_OF[m[1]]),
    _rule(r"['’]?(?<![\d.,])\b([1-9]\d\d0|[1-9]0)['’]?s\b", lambda m: decade(m[1])),
    _rule(rf"(?:([-−])|(?<![A-Za-z]))({_SYMBOLS}|(?<!\w)(?:{_CODES}))\s?({_NUMBER})"
          rf"(?:{_TO}(?:{_SYMBOLS})?({_NUMBER}))?{_SCALE}", _money),
    _rule(rf"({_NUMBER})(?:\s?(thousand|million|billion|trillion))?\s?"
          rf"({_SYMBOLS}|(?:{_CODES})\b)", _money_after),
    _rule(r"(?<![\w.])\+\d{1,3}(?:[\s-]?\(?\d{1,4}\)?){2,5}(?![\w-])", _telephone),
    _rule(r"(?<![\w.-])(?:1[-. ])?(?:\(\d{3,4}\)\s?|\d{3}[-.])\d{3,4}[-. ]\d{4}(?![\w-])",
          _telephone),
    _rule(r"(?<![\w.-])0\d{2,4}[- ]\d{3,4}[- ]\d{3,4}(?![\w-])", _telephone),
    _rule(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])", _telephone),
    _rule(r"(?<![\d/.])(?:(\d+)\s)?(\d{1,2})/(\d{1,3})(?![\d/])", _fraction),
    _rule(r"(?<![\w.:])(\d+):(\d+)(?![\d:])", _range),
    _rule(r"(?<![\w/.])(\d+\.\d+)/(\d+)(?![\d/])", r"\1 out of \2"),
    _rule(r"(?<![\w.])(\d{1,2})['’](\d{1,2})(?:[\"”]|(?!\w))",
          lambda m: f"{cardinal(m[1])} foot {cardinal(m[2])}"),
    _rule(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?!\w)", _dotted),
    _rule(rf"([-−]?{_NUMBER})(?:{_TO}({_NUMBER}))?\s?({_any(UNITS)})(?![\w/²³])(?:\.(?=\s+[a-z]))?",
          _unit),
    _rule(r"(?<!\d)(\d++\.\d++)\s?([MBK])\b", lambda m: f"{cardinal(m[1])} {SCALES[m[2].lower()]}"),
    _rule(rf"({_NUMBER}){_RANK}\b", lambda m: ordinal(m[1].replace(",", ""))),
    _rule(r"(?<=[A-Za-z])-(?=\d)", " "),
    _rule(rf"(?<![\w.,])({_NUMBER})[-–~]({_NUMBER})(?![\w-])", _range),
    _rule(rf"(?i)(\b(?:in|since|by|from|to|until|till|before|after|during|of|year|early|late|mid)\s"
          rf"+|\(){_YEAR}(?![\d,.]\d|\d|-|\s+(?!is|was|its|has|this|as)[a-z]+s\b)",
          lambda m: m[1] + year(m[2])),
    _rule(rf"^{_YEAR}(?=[,.)]|\s+(?:it|he|she|they|we|the|was|is|and|when|in|on|at|to)\b|$)"
          r"(?!,\d|\.\d)", lambda m: year(m[1])),
    _rule(r"(?<=\d)\s*([+×÷*]|\s-\s)\s*(?=[\d-])", lambda m: f" {_SIGNS[m[1].strip()]} "),
    _rule(r"(?:(?<!\s)\s++)?±\s*", " plus or minus "),
    _rule(r"(?<=[\w)])\s+=\s+(?=[\w(-])|(?<=\d)=(?=[\d-])", " equals "),
    _rule(r"(?<=\s)&(?=\s)", "and"),
    _rule(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " "),
    _rule(r"(?<![\w.])\.(?=\d)", "point "),
    _rule(rf"(?<![\w)])[-−+]?{_NUMBER}|{_NUMBER}", lambda m: cardinal(m[0])),
)  # fmt: skip
