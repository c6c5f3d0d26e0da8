"""Text without its punctuation, for those who ask a recognizer for words alone."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from legato.speech.scripts import Script, script_of
from legato.speech.transcripts import Transcript

_ABBREVIATION: Final = re.compile(r"(?:[^\W\d_]\.){2,}")
_READ_ALOUD: Final = frozenset("'’%‰&@#*/\\§")
"""Of Unicode's punctuation what has a reading or is part of a word wherever it stands."""

_IN_WORDS: Final = frozenset(".-_‐‑–")
"""What stays between two letters or digits."""

_IN_NUMBERS: Final = frozenset(",:")
"""What stays between two digits."""

_UNSPACED: Final = frozenset({Script.HAN, Script.KANA})


def without_punctuation(text: str) -> str:
    """Return `text` without the marks that only structure it; letters keep their case.

    What belongs to a word or number stays: apostrophes, hyphens inside, the dots and commas of
    3.5, 1,000 and U.S., a minus sign, percent and other signs that are read aloud.
    """
    return " ".join(" ".join(map(_bare, text.split())).split())


def unpunctuated(transcript: Transcript) -> Transcript:
    """Return a transcript without punctuation; words that were nothing else are left out."""
    words = [replace(word, text=without_punctuation(word.text)) for word in transcript.words]
    return replace(
        transcript,
        text=without_punctuation(transcript.text),
        words=tuple(word for word in words if word.text),
    )


def _bare(word: str) -> str:
    bare = "".join(_kept(word, at) for at in range(len(word)))
    found = _ABBREVIATION.search(word)
    return found[0] if found and bare == found[0].removesuffix(".") else bare


def _kept(word: str, at: int) -> str:
    """Return what stays of a character: itself, nothing, or a space where two words met."""
    char = word[at]
    if char in _READ_ALOUD or not unicodedata.category(char).startswith("P"):
        return char
    before, after = word[at - 1] if at else "", word[at + 1 : at + 2]
    if char == "-" and not before and after.isdigit():
        return char
    if not (_spaced(before) and _spaced(after)):
        return ""
    numbers = before.isdigit() and after.isdigit()
    return char if char in _IN_WORDS or (char in _IN_NUMBERS and numbers) else " "


def _spaced(char: str) -> bool:
    """Whether this is a letter or digit of a script that puts spaces between words."""
    return char.isalnum() and script_of(char) not in _UNSPACED
