"""Chinese text with its numbers, dates, sums and units written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from legato.speech.reading.addresses import ADDRESS, address
from legato.speech.reading.chinese_numerals import cardinal, digits, quantity, telephone
from legato.speech.reading.chinese_words import MEASURES, MONEY, UNITS

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _any(words: Iterable[str]) -> str:
    """Return a pattern for any of `words`, the longest that fits."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NUMBER: Final = r"(?<!\d)(?:\d{1,3}(?:,\d{3}){1,50}+(?!\d)|\d++)(?:\.\d++)?"
"""Groups have a bound, as a list of them is tried from each of its members."""
_TO: Final = r"\s?[-–—~～至到]\s?"
_SYMBOLS: Final = _any(sign for sign in MONEY if not sign.isalpha())
_CODES: Final = _any(sign for sign in MONEY if sign.isalpha())
_SCALE: Final = "([百千万亿]*)"
_HOUR: Final = r"(?<![\d:：.])([01]?\d|2[0-4])[:：]([0-5]\d)(?:[:：]([0-5]\d))?(?![\d:：])"
_SIDES: Final = r"(?:比分|比例|比率|比值|比是|以|比)(?:是|为|成)?\s?"
_NEEDED: Final = re.compile(r"[\d０-９=&@±×÷]|[a-z]\.[a-z]|://", re.IGNORECASE)
"""What a text has that may have to be written out; most have none of it."""

_WIDE: Final = str.maketrans("０１２３４５６７８９％", "0123456789%")
_SIGNS: Final = {"+": "加", "×": "乘", "*": "乘", "÷": "除以", "-": "减"}
_LAST_MONTH, _LAST_DAY = 12, 31
_NAMED_NUMBER: Final = (
    "编号|[账帐卡单工学序型尾座车]号|号码|验证码|密码|邮编|代码|QQ|微信号?|身份证号?|邀请码|口令"
)
_CALLED: Final = "拨打|请拨|致电|热线|电话|客服|呼叫|报警"


def chinese(text: str) -> str:
    """Return Chinese text as it is read out; text that needs nothing is returned as it is."""
    if not _NEEDED.search(text):
        return text
    text = text.translate(_WIDE)
    for pattern, read in _RULES:
        text = pattern.sub(read, text)
    return text


def _telephone(found: re.Match[str]) -> str:
    groups = "，".join(map(telephone, re.findall(r"\d+", found[0])))
    return f"加{groups}" if found[0].startswith("+") else groups


def _date(found: re.Match[str]) -> str:
    year, _, month, day = found.groups()
    if not (1 <= int(month) <= _LAST_MONTH and 1 <= int(day) <= _LAST_DAY):
        return found[0]
    return f"{digits(year)}年{cardinal(str(int(month)))}月{cardinal(str(int(day)))}日"


def _half_day(found: re.Match[str]) -> str:
    half = "上午" if found[3] in "aA" else "下午"
    minutes = f"{cardinal(str(int(found[2])))}分" if found[2] and found[2] != "00" else ""
    gap = "零" if minutes and found[2][0] == "0" else ""
    return f"{half}{quantity(str(int(found[1])))}点{gap}{minutes}"


def _time(found: re.Match[str]) -> str:
    hour, minute, second = found.groups()
    words = f"{quantity(str(int(hour)))}点"
    if minute == "00" and not second:
        return words + "整"
    words += ("零" if minute[0] == "0" else "") + f"{cardinal(str(int(minute)))}分"
    return words + (f"{cardinal(str(int(second)))}秒" if second else "")


def _money(found: re.Match[str]) -> str:
    sign, amount, more, scale = found.groups()
    words = _sum(amount) + (f"到{_sum(more)}" if more else "")
    return words + scale + MONEY[sign]


def _sum(amount: str) -> str:
    return quantity(re.sub(r"\.?0+$", "", amount) if "." in amount else amount)


def _percent(found: re.Match[str]) -> str:
    low, low_sign, high, sign = found.groups()
    of = {"%": "百分之", "‰": "千分之"}[sign]
    if low is None:
        return of + cardinal(high)
    return f"{of}{cardinal(low)}到{of if low_sign else ''}{cardinal(high)}"


def _unit(found: re.Match[str]) -> str:
    number, more, unit = found.groups()
    last = UNITS[unit]
    if more:
        return f"{cardinal(number)}到{quantity(more)}{last}"
    return quantity(number) + last


def _fraction(found: re.Match[str]) -> str:
    top, bottom = found.groups()
    if int(top) >= int(bottom):
        return f"{cardinal(top)}，{cardinal(bottom)}"
    return f"{cardinal(bottom)}分之{cardinal(top)}"


def _rule(pattern: str, read: Callable[[re.Match[str]], str] | str) -> _Rule:
    replace = (lambda found: found.expand(read)) if isinstance(read, str) else read
    return re.compile(pattern), replace


_RULES: Final = (
    (re.compile(ADDRESS, re.ASCII | re.IGNORECASE), lambda m: address(m[0], "zh", digits)),
    _rule(rf"((?:{_NAMED_NUMBER})(?:是|为|[:：\s])*[A-Za-z]{{0,32}}+)(\d+)(?![\d.]\d)",
          lambda m: m[1] + digits(m[2])),
    _rule(r"(?<![\d.])(?:\+?86[-\s]?)?1[3-9]\d([-\s]?)\d{4}\1\d{4}(?!\d)", _telephone),
    _rule(r"(?<![\d.])(?:0\d{2,3}-\d{7,8}|[48]00-\d{3}-\d{4}|[48]00\d{7})(?![\d-])", _telephone),
    _rule(rf"((?:{_CALLED})(?:是|为|[:：\s])*)(\d{{3,}})(?![\d.个次条])",
          lambda m: m[1] + telephone(m[2])),
    _rule(r"(?<!\d)([12]\d{3})([-/.])(\d{1,2})\2(\d{1,2})(?![\d日号])", _date),
    _rule(rf"(?<!\d)([12]\d{{3}}){_TO}([12]\d{{3}})年",
          lambda m: f"{digits(m[1])}到{digits(m[2])}年"),
    _rule(r"(?<!\d)(1\d{3}|20\d{2})(?=年(?!的?历史|前|后|来|间|以))", lambda m: digits(m[1])),
    _rule(r"(?<!\d)([016-9][05])(?=后(?![天年分秒来面续个的一]))", lambda m: digits(m[1])),
    _rule(rf"({_SIDES})(\d+)[:：](\d+)", lambda m: f"{m[1]}{cardinal(m[2])}比{cardinal(m[3])}"),
    _rule(rf"(?<=\d){_TO}(?=\d{{1,2}}[:：]\d\d)", "到"),
    _rule(r"(?<![\d.])(1[0-2]|0?[1-9])(?:[:：]([0-5]\d))?\s?([AaPp])(?:\.[Mm]\.|[Mm](?![A-Za-z]))",
          _half_day),
    _rule(_HOUR, _time),
    _rule(r"(?<!\d)(\d+)[:：](\d+)(?!\d)", lambda m: f"{cardinal(m[1])}比{cardinal(m[2])}"),
    _rule(rf"({_SYMBOLS}|(?<![A-Za-z])(?:{_CODES}))\s?({_NUMBER})"
          rf"(?:{_TO}(?:{_SYMBOLS})?({_NUMBER}))?{_SCALE}元?", _money),
    _rule(rf"({_NUMBER}){_SCALE}\s?({_SYMBOLS}|(?:{_CODES})(?![A-Za-z]))",
          lambda m: _sum(m[1]) + m[2] + MONEY[m[3]]),
    _rule(rf"(?:([-−]?{_NUMBER})(%?){_TO})?((?<![\dA-Za-z])[-−]?{_NUMBER}|{_NUMBER})\s?([%‰])",
          _percent),
    _rule(r"(?<![\d/.])(\d{1,3})/(\d{1,3})(?![\d/])", _fraction),
    _rule(rf"((?<![A-Za-z\d])[-−]?{_NUMBER}|{_NUMBER})(?:{_TO}({_NUMBER}))?\s?"
          rf"({_any(UNITS)})(?![A-Za-z²³/])", _unit),
    _rule(r"\b[Nn][Oo]\.\s?(\d+)", lambda m: f"{cardinal(m[1])}号"),
    _rule(r"(?<![\d.])(\d{3,4})(?=室|房|号房)", lambda m: digits(m[1])),
    _rule(r"(?<=[A-Za-z])-?(\d{3,})(?![.\d])", lambda m: digits(m[1])),
    _rule(r"(?<=[A-Za-z])-(?=\d)", ""),
    _rule(r"(?<!\d)\d+(?:\.\d+){2,}", lambda m: "点".join(map(digits, m[0].split(".")))),
    _rule(r"(?<=\d)\s*([+×÷*]|\s-\s)\s*(?=\d)", lambda m: _SIGNS[m[1].strip()]),
    _rule(rf"({_NUMBER})[-–—~～]({_NUMBER})", lambda m: f"{cardinal(m[1])}到{m[2]}"),
    _rule(r"(?:(?<!\s)\s++)?±\s*", "正负"),
    _rule(r"(?<=[\w)）])\s*=\s*(?=[\w(（-])", "等于"),
    _rule(r"(?:(?<!\s)\s++)?&\s*", "和"),
    _rule(rf"(?<![\d.第])2(?=(?:多|几)?[{MEASURES}元])", "两"),
    _rule(rf"(?<![\dA-Za-z)）])[-−+]{_NUMBER}|{_NUMBER}", lambda m: cardinal(m[0])),
)  # fmt: skip
