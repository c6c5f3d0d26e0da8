"""Local agreement: of a text that is guessed again and again, the part that can be shown.

Liu et al., "Low-Latency Sequence-to-Sequence Speech Recognition and Translation by Partial
Hypothesis Selection", Interspeech 2020: what two guesses in a row agree on is kept. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import takewhile
from typing import Final

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Han."""

_WORD: Final = re.compile(rf" ?(?:[{_UNSPACED}][^\w\s]*|[^\s{_UNSPACED}]+)")


def spoken_form(word: str) -> str:
    """Return a word without case and punctuation, which change while the speaker goes on."""
    plain = unicodedata.normalize("NFKC", word).casefold()
    return "".join(char for char in plain if char.isalnum())


def words_of(text: str) -> list[str]:
    """Cut a text into words, each with the space before it.

    Scripts without spaces are cut into characters, with the punctuation that follows them.
    """
    return _WORD.findall(" ".join(text.split()))


def agreed_words(first: list[str], second: list[str]) -> int:
    """Count the words at the beginning that two texts share, but for case and punctuation."""
    pairs = zip(first, second, strict=False)
    return sum(
        1 for _ in takewhile(lambda pair: spoken_form(pair[0]) == spoken_form(pair[1]), pairs)
    )


class LocalAgreement:
    """Words that two guesses in a row agree on; what was shown once is never taken back."""

    def __init__(self) -> None:
        self._guess: list[str] = []
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """The agreed words, as the last guess that holds them writes them."""
        return "".join(self._shown)

    def accept(self, guess: str) -> str:
        """Take the next guess at the whole text and return the agreed words.

        Args:
            guess: Of the text from its beginning; usually longer than the last one.
        """
        words = words_of(guess)
        agreed = agreed_words(self._guess, words)
        if agreed >= len(self._shown) and agreed_words(self._shown, words) == len(self._shown):
            self._shown = words[:agreed]
        self._guess = words
        return self.text
