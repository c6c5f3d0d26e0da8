"""The words that a model with a lexicon can say, and what becomes of others.

sherpa-onnx leaves a word out that is not in the lexicon. Here it is spelt, or the text is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from legato.errors import UnsupportedText
from legato.speech.reading import language_of, read_out
from legato.speech.scripts import SYLLABIC, script_of

_SYLLABLES: Final = r"\u3040-\u312f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER: Final = rf"[^\W\d_{_SYLLABLES}]"
_WORD: Final = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*")
"""A word of a script that puts white space between words."""

_STROKED: Final = re.compile(r"LATIN (?:SMALL|CAPITAL) LETTER ([A-Z]) WITH ")
_NUMBER: Final = re.compile(r"\d+")


class Lexicon:
    """The words of some lexicon files.

    Args:
        words: In lower case.
        letters: Whether each character stands for itself, as in models that take characters.
        digits: Whether rules of the model write numbers as words.
        language: BCP 47 tag of the language that numbers are read in, where the text leaves that
            open.
    """

    def __init__(
        self,
        words: Iterable[str],
        *,
        letters: bool = False,
        digits: bool = False,
        language: str = "en",
    ) -> None:
        self._words = frozenset(words)
        self._letters = letters
        self._digits = digits
        self._language = language
        self._characters = frozenset(
            char for word in self._words for char in word if script_of(char) in SYLLABIC
        )

    def respelt(self, text: str) -> str:
        """Return a text of which nothing will be left out.

        Raises:
            UnsupportedText: If there is no way to say a part of it; names the characters.
        """
        foreign: list[str] = []
        text = "".join(map(_plain, text))
        if not self._digits and any(map(str.isdigit, text)):
            # The worker writes numbers out, in languages that it can; this is for what is left.
            text = read_out(text, language_of(text, self._language))
            text = _NUMBER.sub(lambda number: " ".join(number.group()), text)

        def known(match: re.Match[str]) -> str:
            spelt = self._said(match.group())
            if spelt is None:
                foreign.extend(match.group())
            return spelt or ""

        found = _WORD.sub(known, text)
        foreign += [char for char in found if self._is_lost(char)]
        if foreign:
            characters = "".join(dict.fromkeys(foreign))[:20]
            raise UnsupportedText(
                f"sherpa-onnx: the model's lexicon has nothing for {characters!r}",
                characters=characters,
            )
        return found

    def _is_lost(self, char: str) -> bool:
        return (char.isnumeric() or script_of(char) in SYLLABIC) and not self._has(char)

    def _has(self, char: str) -> bool:
        if script_of(char) in SYLLABIC:
            return char in self._words or char in self._characters
        return char in self._words or (self._digits and char.isdigit())

    def _said(self, word: str) -> str | None:
        """Return how a word is written so that it is said, None if there is no way."""
        for form in (word, _unaccented(word)):
            plain = form.replace("’", "'").lower()
            if plain in self._words:
                return plain
            if self._letters and all(char in self._words for char in plain):
                return plain
            pieces = plain.split("'")
            if len(pieces) > 1 and all(piece in self._words for piece in pieces):
                return " ".join(pieces)
            letters = plain.replace("'", "")
            if all(letter in self._words for letter in letters):
                return f" {' '.join(letters)} "
        return None


def _plain(char: str) -> str:
    """Return ½ as 1/2 and ² as 2, as rules and readings know them."""
    if unicodedata.category(char) != "No":
        return char
    return unicodedata.normalize("NFKC", char).replace("\u2044", "/")


def _unaccented(word: str) -> str:
    """Return a word in the letters that its own are made of: Łódź as Lodz."""
    apart = unicodedata.normalize("NFD", word)
    return "".join(_base(char) for char in apart if not unicodedata.combining(char))


def _base(char: str) -> str:
    found = None if char.isascii() else _STROKED.match(unicodedata.name(char, ""))
    return found.group(1) if found else char


def words_of(paths: Iterable[Path]) -> set[str]:
    """Return the words of lexicon files, whose lines begin with one, in lower case."""
    words: set[str] = set()
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            words.update(line.split(None, 1)[0].lower() for line in lines if line.strip())
    return words
