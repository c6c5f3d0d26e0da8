"""Words whose full stop need not end a sentence.

Keys in lower case match in any case; keys with a capital match only as they are written ("Sat." is
a day, "sat." a verb).
"""

from __future__ import annotations

from enum import Enum, auto


class Stop(Enum):
    """What a full stop may be, seen from the word before it."""

    WORD = auto()
    """Follows an ordinary word: ends the sentence unless a small letter comes next."""
    TITLE = auto()
    """Never ends a sentence: Dr., e.g."""
    NUMBERED = auto()
    """Does not end a sentence before a number or a small letter: No. 5, Oct. 3rd, etc."""
    NAME = auto()
    """Ends a sentence only before a word that begins one: U.S., Inc., J. R. R."""
    LIST = auto()
    """Follows the number of a list item, with which the sentence begins: 1. b. IV."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = {
    Stop.TITLE: _words(
        "dr mr mrs ms mx messrs mme mlle prof e.g i.e viz cf vs approx ca resp incl excl esp "
        "Gen Col Maj Lt Capt Cpl Cmdr Sgt Adm Gov Sen Rep Pres Rev Fr Hon Supt Det Insp Amb Atty "
        "Brig Mt Ft Pt"
    ),
    Stop.NUMBERED: _words(
        "nos fig figs vol vols ch chap pp p para sec eq eqs ver v ext tel etc max min avg est "
        "jan feb mar apr jun jul aug sept sep oct nov dec Mon Tue Tues Wed Thu Thurs Fri Sat Sun "
        "no N°"
    ),
    Stop.NAME: _words(
        "inc ltd co corp llc plc bros jr sr esq ph.d phd st ave blvd rd hwy dept univ assn ed eds "
        "al bldg"
    ),
}
_STOP_OF_WORD = {word: stop for stop, words in _WORDS.items() for word in words}
_LONGEST = max(map(len, _STOP_OF_WORD)) + 2
_ROMAN = frozenset("IVXLC")
_LIST_DIGITS = 3
_LIST_LETTERS = 4

STARTERS = _words(
    "a after also although an and are as at because before both but by can did do does during "
    "each even for from had has have he her here his how however i if in is it its last let "
    "like many most my next no not now of on once one or our perhaps please she since so some "
    "still such that the their then there these they this those though to today tomorrow "
    "until was we were what when where which while who why with yes yesterday yet you your"
)
"""Words that, written with a capital after a doubtful full stop, show that a sentence begins."""

STARTER_BEGINNINGS = frozenset(word[:n] for word in STARTERS for n in range(1, len(word) + 1))
"""Every beginning of every one of `STARTERS`: how far a growing word may still become one."""

CONJUNCTIONS = _words("and but or so because although while when where which that if as")
"""Words before which a voice may breathe if a long sentence has no clause mark."""


def stop_after(word: str, *, leads: bool) -> Stop:
    """Return what a full stop after `word` may be.

    Args:
        word: The letters, digits, inner full stops and apostrophes before it.
        leads: Whether `word` is the first of its sentence, of its line or after a colon.
    """
    word = word.strip("'’")
    if leads and _numbers_a_list(word):
        return Stop.LIST
    if len(word) > _LONGEST:
        return Stop.WORD
    if stop := _STOP_OF_WORD.get(word) or _STOP_OF_WORD.get(word.lower()):
        return stop
    return Stop.NAME if _is_initials(word) else Stop.WORD


def _numbers_a_list(word: str) -> bool:
    if word.isdigit():
        return len(word) <= _LIST_DIGITS
    if len(word) == 1:
        return word.isalpha()
    return 0 < len(word) <= _LIST_LETTERS and _ROMAN.issuperset(word)


def _is_initials(word: str) -> bool:
    """Tell whether `word` is single letters with full stops between them: B, U.S, p.m."""
    letters, dots = word[::2], word[1::2]
    return len(word) % 2 == 1 and letters.isalpha() and not dots.strip(".")
