"""Languages by their BCP 47 tags: which are the same one, and in which scripts they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from legato.speech.scripts import Script

_SAME: Final[Mapping[str, str]] = MappingProxyType(
    {"cmn": "zh", "nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi"}
)
"""Tags that the IANA registry of language subtags puts under another, or has replaced."""

_WRITTEN: Final[Mapping[str, frozenset[Script]]] = MappingProxyType(
    {
        "zh": frozenset({Script.HAN, Script.BOPOMOFO}),
        "yue": frozenset({Script.HAN}),
        "ja": frozenset({Script.KANA, Script.HAN}),
        "ko": frozenset({Script.HANGUL, Script.HAN}),
        "sr": frozenset({Script.CYRILLIC, Script.LATIN}),
        "pa": frozenset({Script.GURMUKHI, Script.ARABIC}),
        "mn": frozenset({Script.CYRILLIC, Script.MONGOLIAN}),
    }
    | {
        language: frozenset({script})
        for script, languages in {
            Script.CYRILLIC: "ru uk be bg mk kk ky tg",
            Script.GREEK: "el",
            Script.ARMENIAN: "hy",
            Script.GEORGIAN: "ka",
            Script.HEBREW: "he yi",
            Script.ARABIC: "ar fa ur ps",
            Script.ETHIOPIC: "am ti",
            Script.DEVANAGARI: "hi mr ne sa",
            Script.BENGALI: "bn as",
            Script.GUJARATI: "gu",
            Script.TAMIL: "ta",
            Script.TELUGU: "te",
            Script.KANNADA: "kn",
            Script.MALAYALAM: "ml",
            Script.SINHALA: "si",
            Script.THAI: "th",
            Script.LAO: "lo",
            Script.KHMER: "km",
            Script.MYANMAR: "my",
            Script.TIBETAN: "bo",
        }.items()
        for language in languages.split()
    }
)
"""Scripts of languages that are not written in Latin alone (CLDR, languageData)."""

_CODES: Final[Mapping[str, Script]] = MappingProxyType(
    {script.value.lower(): script for script in Script}
    | {"hans": Script.HAN, "hant": Script.HAN, "hira": Script.KANA}
)

_SOLE: Final[Mapping[Script, str]] = MappingProxyType(
    {Script.HAN: "zh", Script.BOPOMOFO: "zh", Script.KANA: "ja", Script.HANGUL: "ko"}
)


def primary(tag: str) -> str:
    """Return the language of a tag without region and script: "zh" of "cmn-Hans-CN"."""
    first = tag.partition("-")[0].lower()
    return _SAME.get(first, first)


def speaks(tags: Iterable[str], language: str) -> bool:
    """Tell whether one of `tags` is the language of the tag `language`, whatever the region."""
    wanted = primary(language)
    return any(primary(tag) == wanted for tag in tags)


def written_in(tag: str) -> frozenset[Script]:
    """Return the scripts that a language is written in; Latin where nothing else is known.

    A script within the tag decides: "sr-Latn" is Latin alone.
    """
    for part in tag.lower().split("-")[1:]:
        if part in _CODES:
            return frozenset({_CODES[part]})
    return _WRITTEN.get(primary(tag), frozenset({Script.LATIN}))


def sole_language(script: Script) -> str:
    """Return the language that text in a script is taken to be, "" where there are many.

    Han characters alone are Chinese; among kana `legato.speech.scripts.runs` calls them kana.
    """
    return _SOLE.get(script, "")
