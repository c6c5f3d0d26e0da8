"""Text in parts that are one step of a model each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 120
"""Characters of a part of Latin text: about 8 s of speech, one step of a model."""

_SYLLABLES: Final = 40
"""The same for text of which a character is a syllable."""

_ENDS: Final = re.compile(r"(?<=[.!?…])[\"”’)\]]*\s+|(?<=[。！？])|\n+")
_BREAKS: Final = (",;:—，、；：", " ")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; long ones are cut, best after a clause, at worst in a word."""
    for sentence in _ENDS.split(text):
        rest = sentence.strip()
        while len(rest) > (limit := _limit(rest)):
            cut = _cut(rest, limit)
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest


def _limit(text: str) -> int:
    head = text[:LONGEST]
    wide = sum(char > "\u2e7f" for char in head)
    return _SYLLABLES if 2 * wide > len(head) else LONGEST


def _cut(text: str, limit: int) -> int:
    for marks in _BREAKS:
        cut = max(text.rfind(mark, 0, limit) for mark in marks) + 1
        if cut > limit // 3:
            return cut
    return limit
