"""Which writing systems a text uses, so that it reaches an engine that can read it aloud.

Python's `unicodedata` has no script property, but the name of every letter, mark and digit begins
with its script. Where that differs from Unicode's Scripts.txt (UAX 24) it follows the reader:
digits and vowel signs of a script belong to it, accents that any script may use to none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from enum import Enum
from functools import lru_cache
from itertools import islice, pairwise


class Script(Enum):
    """A writing system; the value is its ISO 15924 code."""

    LATIN = "Latn"
    GREEK = "Grek"
    CYRILLIC = "Cyrl"
    ARMENIAN = "Armn"
    GEORGIAN = "Geor"
    HEBREW = "Hebr"
    ARABIC = "Arab"
    ETHIOPIC = "Ethi"
    DEVANAGARI = "Deva"
    BENGALI = "Beng"
    GURMUKHI = "Guru"
    GUJARATI = "Gujr"
    TAMIL = "Taml"
    TELUGU = "Telu"
    KANNADA = "Knda"
    MALAYALAM = "Mlym"
    SINHALA = "Sinh"
    THAI = "Thai"
    LAO = "Laoo"
    KHMER = "Khmr"
    MYANMAR = "Mymr"
    TIBETAN = "Tibt"
    MONGOLIAN = "Mong"
    HAN = "Hani"
    BOPOMOFO = "Bopo"
    KANA = "Kana"
    """Hiragana and katakana."""
    HANGUL = "Hang"
    OTHER = "Zzzz"
    """A writing system that has no name here."""
    COMMON = "Zyyy"
    """Punctuation, ASCII digits, symbols, emoji, spaces: every script uses them."""


SYLLABIC = frozenset({Script.HAN, Script.KANA, Script.HANGUL, Script.BOPOMOFO})
"""Scripts in which one character is about a syllable."""

_BY_NAME = {script.name: script for script in Script} | {
    "CJK": Script.HAN,
    "KANGXI": Script.HAN,
    "IDEOGRAPHIC": Script.HAN,
    "HIRAGANA": Script.KANA,
    "KATAKANA": Script.KANA,
    "KATAKANA-HIRAGANA": Script.KANA,
    "ARABIC-INDIC": Script.ARABIC,
    "EXTENDED": Script.ARABIC,
    "HANGZHOU": Script.HAN,
    "HENTAIGANA": Script.KANA,
}
"""First word of a character's name to its script."""

_WIDTHS = ("FULLWIDTH ", "HALFWIDTH ")
# Names that begin with no script: COMBINING ACUTE ACCENT, MASCULINE ORDINAL INDICATOR, MICRO SIGN…
_COMMON_NAMES = re.compile(
    "(ALEF|ANGSTROM|BET|BLACK-LETTER|CARON|COMBINING|DALET|DIGIT|DOUBLE-STRUCK|ENCLOSED|EULER"
    "|FEMININE|GIMEL|INFORMATION|KELVIN|LOW|MASCULINE|MASU|MATHEMATICAL|MICRO|MODIFIER|MUSICAL|OHM"
    "|PLANCK|ROMAN|SCRIPT|SEGMENTED|SMALL|SUPERSCRIPT|TURNED|VARIATION|VERTICAL) "
)
_HAN_PLANES = range(0x20000, 0x40000)
"""Unicode's planes 2 and 3, kept for Han: newer Pythons know more of them than older ones."""

_OPENERS = "([{（［【《〈「『“‘«"
_PREFIXES = _OPENERS + "$€£¥#@+-−"


@lru_cache(maxsize=8192)
def script_of(char: str) -> Script:
    """Return the script of one character.

    Raises:
        TypeError: If `char` is not exactly one character.
    """
    kind = unicodedata.category(char)
    if ord(char) in _HAN_PLANES:
        return Script.HAN
    if kind[0] not in "LMN" or kind == "No" or char in "0123456789":
        return Script.COMMON
    name = unicodedata.name(char, "")
    for width in _WIDTHS:
        name = name.removeprefix(width)
    if _COMMON_NAMES.match(name):
        return Script.COMMON
    return _BY_NAME.get(name.partition(" ")[0], Script.OTHER)


def scripts_in(text: str) -> frozenset[Script]:
    """Return the scripts that `text` needs; empty if it is all `Script.COMMON`."""
    return frozenset(map(script_of, set(text))) - {Script.COMMON}


def is_speakable(text: str) -> bool:
    """Tell whether `text` has a letter or a number: something that a voice can read aloud."""
    return any(char.isalnum() or script_of(char) is not Script.COMMON for char in text)


def unspeakable(text: str, scripts: Collection[Script], *, limit: int = 20) -> str:
    """Return the characters of `text` that an engine for `scripts` cannot read aloud.

    Args:
        text: What is to be spoken.
        scripts: What the engine reads; empty means any.
        limit: How many characters to return at most.

    Returns:
        The distinct characters in the order of their first use.
    """
    if not scripts:
        return ""
    readable = {Script.COMMON, *scripts}
    foreign = (char for char in dict.fromkeys(text) if script_of(char) not in readable)
    return "".join(islice(foreign, limit))


def runs(text: str) -> list[tuple[Script, str]]:
    """Split `text` into the longest pieces of one script; joined again they are `text`.

    Common characters stay with the piece before them, but opening marks, signs and numbers that
    touch the next word go with it ("用5G" is "用" and "5G"). In a text with kana, Han characters
    are Japanese and belong to its `Script.KANA` runs. A text of common characters alone is one
    `Script.COMMON` run.
    """
    if not text:
        return []
    starts = list(_starts(text)) or [(Script.COMMON, 0)]
    starts[0] = (starts[0][0], 0)
    ends = [*starts[1:], (Script.COMMON, len(text))]
    return [(script, text[a:b]) for (script, a), (_, b) in zip(starts, ends, strict=True)]


def kanji_in(text: str) -> str:
    """Return the Han characters of Japanese text, each once: some engines read its kana only."""
    han = (
        char
        for script, run in runs(text)
        if script is Script.KANA
        for char in run
        if script_of(char) is Script.HAN
    )
    return "".join(dict.fromkeys(han))


def _starts(text: str) -> Iterator[tuple[Script, int]]:
    scripts = [script_of(char) for char in text]
    if Script.KANA in scripts:
        scripts = [Script.KANA if script is Script.HAN else script for script in scripts]
    places = [(script, i) for i, script in enumerate(scripts) if script is not Script.COMMON]
    yield from places[:1]
    for (before, gap), (script, i) in pairwise(places):
        if script is not before:
            yield script, _leading(text, script, range(gap + 1, i))


def _leading(text: str, script: Script, gap: range) -> int:
    """Return where, in the common characters of `gap`, those begin that go with what follows."""
    start = gap.stop
    takes_numbers = script not in SYLLABIC
    while start > gap.start:
        char = text[start - 1]
        in_number = char.isdigit() or (char in ".," and text[start].isdigit())
        if char not in _PREFIXES and not (takes_numbers and in_number):
            break
        start -= 1
    return start
