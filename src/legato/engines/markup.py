"""Text as a voice should read it: without the marks that are meant for the eye.

Language models write Markdown and emoji into what is to be spoken. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from itertools import islice
from typing import Final

from legato.speech.scripts import is_speakable

LONGEST_WORD: Final = 40
"""Characters after which a run without white space is broken; longer ones are no words."""

_LONGEST_NUMBER: Final = 15
"""Digits of the longest number that is read as one; longer ones are read digit by digit."""

_LINES: Final = (
    (re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE), ""),  # fence of a code block
    (re.compile(r"^[ \t]*[|:\-=*_ \t]{3,}$", re.MULTILINE), ""),  # rule, or head of a table
    (re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE), ""),  # heading
    (re.compile(r"^[ \t]*(?:>[ \t]*)+(?=\S)", re.MULTILINE), ""),  # quotation
    (re.compile(r"^[ \t]*[-*+\u2022][ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE), ""),  # list item
)
_SPANS: Final = (
    (re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),  # link or picture: its text
    (re.compile(r"`+([^`\n]*)`+"), r"\1"),
    (re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~)(?=\S)([^\n]{1,500}?)(?<=\S)\1(?!\w)"), r"\2"),
)
_LONG_NUMBER: Final = re.compile(rf"\d{{{_LONGEST_NUMBER + 1},}}")
_LONG_WORD: Final = re.compile(  # in scripts that put white space between words
    rf"[^\s\u0250-\U0010ffff]{{{LONGEST_WORD}}}(?=[^\s\u0250-\U0010ffff])"
)
_BLANKS: Final = re.compile(r"[^\S\n]+")
_UNSEEN: Final = frozenset({"Cc", "Cn", "Co", "Cs"})
"""Categories of control characters and of codes without a character."""

_EMOJI: Final = re.compile(
    "["
    "\u2600-\u2775\u2794-\u27bf"  # miscellaneous symbols, dingbats, but no ❶ to ➓
    "\u2b00-\u2bff"  # stars, arrows as pictures
    "\U0001f000-\U0001f0ff\U0001f1e6-\U0001faff"  # pictures and flags
    "\u200d\u20e3\ufe0e\ufe0f"  # what joins and varies them
    "\U000e0020-\U000e007f"  # tags of flags
    "]+"
)
_KNOWN_SIGNS: Final = frozenset("²³½¼¾ªº™…")
"""Signs that have a reading of their own, other than that of what they are composed of."""


def spoken(text: str) -> str:
    """Return `text` without Markdown, emoji and control characters.

    Emoji are left out, as by people who read a message aloud. Numbers and words too long to be
    any are broken up, so that no engine meets them whole. Line breaks stay.
    """
    for pattern, instead in (*_LINES, *_SPANS):
        text = pattern.sub(instead, text)
    text = "".join(map(_plain, _EMOJI.sub(" ", text)))
    text = _LONG_NUMBER.sub(lambda number: " ".join(number.group()), text)
    text = _LONG_WORD.sub(r"\g<0> ", text)
    return _BLANKS.sub(" ", text).strip()


def letters_of(text: str, *, limit: int = 20) -> str:
    """Return the distinct letters and numerals of `text`, at most `limit` of them."""
    return "".join(islice(filter(is_speakable, dict.fromkeys(text)), limit))


def unread(text: str) -> str:
    """Return the distinct letters and numerals of `text` that `spoken` leaves nothing of.

    They are codes that are kept for a script but not assigned, and marks which alone are nothing.
    Such a text is to be refused: who wrote it expects to hear it, as nobody does of emoji.
    """
    remains = str.strip if is_speakable(spoken(text)) else is_speakable
    return "".join(c for c in dict.fromkeys(text) if is_speakable(c) and not remains(_plain(c)))


def _plain(char: str) -> str:
    """Return a character as engines know it: ⅓ as 1/3, ㎏ as kg, ❶ as 1, a control as a space."""
    if (char.isascii() and char.isprintable()) or char == "\n" or char in _KNOWN_SIGNS:
        return char
    kind = unicodedata.category(char)
    if kind in _UNSEEN:
        return " "
    composed = unicodedata.decomposition(char)
    if not composed.startswith("<"):
        return f" {_value(char)} " if kind == "No" else char
    plain = unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    if composed.startswith("<circle>"):
        return f" {plain} "
    return f" {plain}" if composed.startswith("<fraction>") else plain


def _value(char: str) -> Fraction:
    """Return what a numeral that is no digit stands for; its text is "9" or "1/64"."""
    return Fraction(unicodedata.numeric(char)).limit_denominator(1_000)
