"""Which language a text is read out in, and the reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from legato.speech.reading.chinese import chinese
from legato.speech.reading.english import english
from legato.speech.scripts import Script, scripts_in

_ENGLISH_IN_CHINESE: Final = re.compile(
    r"[A-Za-z][A-Za-z'’]*[,;:]?(?: [#$€£]?[\w.,:%$€£'’@/+-]*[\w%$€£])*(?:[.!?](?=$|[”\"]))?",
    re.ASCII,
)
_WORD: Final = re.compile(r"[A-Za-z]['’A-Za-z]*", re.ASCII)
_WIDE_MARKS: Final = re.compile("[。，！？、；：]")
_ENGLISH_WORDS: Final = 3
"""Words from which a run of Latin letters in Chinese text is English; shorter ones are names."""

_MONTH_FIRST: Final = frozenset({"en", "en-us", "en-ca", "en-ph"})
"""Where the month is written before the day."""


def _english(text: str, tag: str) -> str:
    return english(text, day_first=tag.lower() not in _MONTH_FIRST)


def _chinese(text: str, _tag: str) -> str:
    """Read Chinese; English sentences in it are read as English."""
    pieces: list[str] = []
    done = 0
    for found in _ENGLISH_IN_CHINESE.finditer(text):
        if len(_WORD.findall(found[0])) >= _ENGLISH_WORDS:
            pieces += [chinese(text[done : found.start()]), english(found[0])]
            done = found.end()
    return "".join(pieces) + chinese(text[done:])


_READERS: Final[Mapping[str, Callable[[str, str], str]]] = {"en": _english, "zh": _chinese}
LANGUAGES: Final = frozenset(_READERS)
"""Primary tags of the languages that are read out; text in any other is left as it is."""


def language_of(text: str, tag: str | None = None) -> str:
    """Return the BCP 47 tag of the language that a text is read in.

    Args:
        text: One segment.
        tag: The language that was asked for, which decides unless the text is in another script.

    Returns:
        "zh" for Han characters without kana, the tag asked for, or "en" for ASCII letters. Nothing
        ("") where the language is not known: to read German numbers in English is worse than
        leaving them to the engine.
    """
    scripts = scripts_in(text)
    primary = (tag or "").partition("-")[0].lower()
    if not scripts:
        return tag or ("zh" if _WIDE_MARKS.search(text) else "")
    if Script.HAN in scripts and Script.KANA not in scripts:
        return "zh" if primary in {"", "en", "zh"} else primary
    if tag and not (primary == "zh" and scripts == {Script.LATIN}):
        return tag
    return "en" if scripts == {Script.LATIN} and _is_ascii(text) else ""


def _is_ascii(text: str) -> bool:
    """Tell whether all letters are ASCII's: accents hint at a language that is not known."""
    return all(char.isascii() for char in text if char.isalpha())


def read_out(text: str, tag: str) -> str:
    """Return `text` with its numbers, dates, sums, units and addresses as words.

    Args:
        text: One segment, as the scanner cut it.
        tag: Language, as `language_of` returns it. Text in a language that is not among
            `LANGUAGES` is returned as it is.
    """
    reader = _READERS.get(tag.partition("-")[0].lower())
    return reader(text, tag) if reader else text
