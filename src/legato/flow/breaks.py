"""Where a text that is too long is cut: the best place that was passed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from legato.flow.abbreviations import CONJUNCTIONS
from legato.flow.punctuation import Kind
from legato.flow.surroundings import LETTERS

_AFTER_IDEOGRAPH = LETTERS | {Kind.IDEOGRAPH, Kind.OPEN}


class Break(IntEnum):
    """A sort of place to cut, best first."""

    PAUSE = 0
    WEAK_PAUSE = 1
    """Before a conjunction, in a list, and inside brackets or quotes."""
    SPACE = 2
    IDEOGRAPH = 3
    """Before or after a Han character or kana."""


def breakable(before: Kind, kind: Kind) -> bool:
    """Tell whether a text may be cut between two characters only because one is an ideograph."""
    if before is Kind.IDEOGRAPH:
        return kind in _AFTER_IDEOGRAPH
    return kind is Kind.IDEOGRAPH and before in LETTERS


class Place(NamedTuple):
    """A place in held-back text: the number of characters before it and their size."""

    chars: int
    size: int

    def after(self, cut: Place) -> Place:
        """Return the same place in the text without what is before `cut`."""
        return Place(self.chars - cut.chars, self.size - cut.size)


@dataclass(slots=True)
class Breaks:
    """The last place of each sort in the text that is held back."""

    _places: dict[Break, Place] = field(default_factory=dict)

    def note(self, sort: Break, place: Place) -> None:
        """Remember `place` instead of the last of its sort."""
        self._places[sort] = place

    def note_space(self, word: str, place: Place) -> None:
        """Remember `place` behind the space that follows `word`."""
        before = self._places.get(Break.SPACE)
        if word.lower() in CONJUNCTIONS and before and place.chars == before.chars + len(word) + 1:
            self._places[Break.WEAK_PAUSE] = before
        self._places[Break.SPACE] = place

    def best(self, least: int) -> Place | None:
        """Return the best place that leaves a text of size `least` or, failing that, the last."""
        for sort in sorted(self._places):
            if self._places[sort].size >= least:
                return self._places[sort]
        return max(self._places.values(), default=None)

    def drop(self, cut: Place) -> None:
        """Follow the text, which lost what is before `cut`."""
        self._places = {
            sort: place.after(cut)
            for sort, place in self._places.items()
            if place.chars > cut.chars
        }
