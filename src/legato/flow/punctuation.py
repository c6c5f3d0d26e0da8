"""What each character may do to the flow of a sentence."""

from __future__ import annotations

import unicodedata
from enum import Enum, auto
from functools import lru_cache

from legato.speech.scripts import SYLLABIC, Script, script_of


class Kind(Enum):
    """A class of characters that the segmenter treats alike."""

    SPACE = auto()
    NEWLINE = auto()
    UPPER = auto()
    LOWER = auto()
    LETTER = auto()
    """A letter of a script without case that puts spaces between words (Arabic, Hangul)."""
    IDEOGRAPH = auto()
    """A character of a script without spaces: Han, kana."""
    DIGIT = auto()
    STOP = auto()
    """Ends a sentence and does nothing else: 。 ！ ？ । ؟"""
    DOT = auto()
    QUESTION = auto()
    EXCLAMATION = auto()
    ELLIPSIS = auto()
    PAUSE = auto()
    """A clause mark if a space follows, else part of a number, time or address: , : ;"""
    WIDE_PAUSE = auto()
    """A clause mark that needs no space: ， ； ："""
    DASH = auto()
    """A clause mark that needs no space and may begin a sentence: —"""
    ENUMERATION = auto()
    """The mark between the items of a Chinese or Japanese list: 、"""
    OPEN = auto()
    CLOSE_BRACKET = auto()
    CLOSE_QUOTE = auto()
    QUOTE = auto()
    """The ASCII double quote, which opens or closes."""
    APOSTROPHE = auto()
    """Closes a quotation after the end of a sentence, else is part of a word."""
    EMPHASIS = auto()
    """Markdown's * and _."""
    TAIL = auto()
    """Stays with what it follows: emoji, accents, joiners."""
    SYMBOL = auto()


_MARKS = {
    Kind.NEWLINE: "\n\v\f\x1c\x1d\x1e\x85\u2028\u2029",
    Kind.STOP: "。！？｡‼⁇⁈⁉؟۔।॥።։။៕",
    Kind.DOT: ".．",
    Kind.QUESTION: "?",
    Kind.EXCLAMATION: "!",
    Kind.ELLIPSIS: "…⋯‥",
    Kind.PAUSE: ",:;،؛",
    Kind.WIDE_PAUSE: "，；：",
    Kind.DASH: "—",
    Kind.ENUMERATION: "、､",
    Kind.OPEN: "([{（［｛【〔《〈「『〖“«‹｢",
    Kind.CLOSE_BRACKET: ")]}）］｝】〕》〉〗",
    Kind.CLOSE_QUOTE: "”」』»›｣",
    Kind.QUOTE: '"',
    Kind.APOSTROPHE: "'’",
    Kind.EMPHASIS: "*_",
}
_KIND_OF_MARK = {char: kind for kind, chars in _MARKS.items() for char in chars}
_KIND_OF_CATEGORY = {"Lu": Kind.UPPER, "Lt": Kind.UPPER, "Ll": Kind.LOWER} | dict.fromkeys(
    ("Mn", "Mc", "Me", "Cf", "So", "Sk"), Kind.TAIL
)
_KIND_OF_CLASS = {"L": Kind.LETTER, "N": Kind.DIGIT}
SYLLABLE_SIZE = 3
"""Size of a Han, kana or Hangul character: 4.5 are spoken a second, and 15 Latin characters."""


@lru_cache(maxsize=8192)
def kind_of(char: str) -> Kind:
    """Return the kind of one character."""
    if char in _KIND_OF_MARK:
        return _KIND_OF_MARK[char]
    if char.isspace():
        return Kind.SPACE
    if script_of(char) in {Script.HAN, Script.KANA}:
        return Kind.IDEOGRAPH
    category = unicodedata.category(char)
    if category in _KIND_OF_CATEGORY:
        return _KIND_OF_CATEGORY[category]
    return _KIND_OF_CLASS.get(category[0], Kind.SYMBOL)


@lru_cache(maxsize=8192)
def size_of(char: str) -> int:
    """Return how long one character takes to say, in Latin characters."""
    return SYLLABLE_SIZE if script_of(char) in SYLLABIC else 1
