"""Word errors: two texts aligned at the least cost (Levenshtein over words)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from legato.speech.reading.english_numerals import cardinal

_SPELLINGS = {"mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint"}
_LAST_IN_WORDS = 12
"""Up to here prose writes numbers as words, and a listener cannot tell which were written so."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words_of(text: str) -> list[str]:
    """Return the words of `text` as a listener counts them: no case, no punctuation."""
    words = _WORD.findall(text.lower().replace("’", "'"))
    return [_spelt_out(word) for word in words]


def _spelt_out(word: str) -> str:
    if word.isdecimal() and int(word) <= _LAST_IN_WORDS:
        return cardinal(str(int(word)))
    return _SPELLINGS.get(word, word)


def word_errors(said: Sequence[str], heard: Sequence[str]) -> list[str]:
    """Return each error of the cheapest alignment, in order.

    Returns:
        `word for word` (heard, then said), `extra word` or `missing word`.
    """
    costs = _costs(said, heard)
    errors = []
    at, by = len(said), len(heard)
    while at or by:
        here = costs[at][by]
        if at and by and said[at - 1] == heard[by - 1] and here == costs[at - 1][by - 1]:
            at, by = at - 1, by - 1
        elif by and here == costs[at][by - 1] + 1:
            by -= 1
            errors.append(f"extra {heard[by]}")
        elif at and here == costs[at - 1][by] + 1:
            at -= 1
            errors.append(f"missing {said[at]}")
        else:
            at, by = at - 1, by - 1
            errors.append(f"{heard[by]} for {said[at]}")
    errors.reverse()
    return errors


def _costs(said: Sequence[str], heard: Sequence[str]) -> list[list[int]]:
    """Return the least number of errors between all beginnings of both."""
    costs = [list(range(len(heard) + 1))]
    for at, word in enumerate(said, start=1):
        above = costs[-1]
        line = [at]
        for by, other in enumerate(heard, start=1):
            line.append(min(above[by - 1] + (word != other), above[by] + 1, line[by - 1] + 1))
        costs.append(line)
    return costs
