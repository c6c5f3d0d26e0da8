"""When punctuation ends a sentence: the marks, and what must follow them, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from legato.flow.abbreviations import STARTER_BEGINNINGS, STARTERS, Stop
from legato.flow.breaks import Place
from legato.flow.punctuation import Kind

Mark = Kind | Stop
"""What may end a sentence or clause: a kind of punctuation, or the full stop after a kind of word.

`Kind.NEWLINE` is the end of a short line.
"""


class Verdict(Enum):
    """What a character decides about the marks before it."""

    WAIT = auto()
    """Nothing yet."""
    EXTEND = auto()
    """It is one of the marks: "?!", a closing quote."""
    JOIN = auto()
    """The sentence goes on."""
    PAUSE = auto()
    """A clause ended."""
    CUT = auto()
    """A sentence ended."""
    WORD = auto()
    """The whole word that begins here will decide."""


@dataclass(slots=True)
class Boundary:
    """Marks that may end a sentence or clause, waiting for what follows.

    Attributes:
        mark: What the marks are.
        place: Where the text would be cut: behind them and the space after them.
        nested: Whether they are inside short brackets or quotes.
        numeric: Whether they follow a digit.
        spaced: Whether space follows.
        closed: Whether closing quotes or brackets follow.
        bracketed: Whether the last of those is a bracket.
        word: The beginning of the word that will decide, in lower case.
    """

    mark: Mark
    place: Place
    nested: bool
    numeric: bool = False
    spaced: bool = False
    closed: bool = False
    bracketed: bool = False
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What else a decision depends on.

    Attributes:
        adjacent: Whether the character follows the marks and space directly, with no opening
            quotes or symbols between.
        open: Whether a bracket or quote is open.
        address: Whether the marks are inside what looks like an address or a file name.
        lower_case: Whether the sentence began with a small letter, so that the next may, too.
    """

    adjacent: bool
    open: bool
    address: bool
    lower_case: bool


PAUSES = frozenset({Kind.PAUSE, Kind.WIDE_PAUSE, Kind.DASH, Kind.ENUMERATION})
CLOSERS = frozenset({Kind.CLOSE_BRACKET, Kind.CLOSE_QUOTE, Kind.APOSTROPHE})
TERMINATORS = frozenset({Kind.STOP, Kind.DOT, Kind.QUESTION, Kind.EXCLAMATION, Kind.ELLIPSIS})
SENTENCE_MARKS = frozenset[Mark]({*Stop, *TERMINATORS})
SURE_AT_LINE_END = frozenset[Mark](
    {Stop.WORD, Kind.STOP, Kind.QUESTION, Kind.EXCLAMATION, Kind.ELLIPSIS}
)
"""Marks that a new line turns into the end of a sentence without a look at what follows."""
_UNCASED = frozenset[Mark]({Stop.WORD, Kind.EXCLAMATION, Kind.NEWLINE})
"""Marks after which a small letter begins a sentence for those who write small letters only."""

_IN_ADDRESSES = frozenset[Mark]({Kind.QUESTION, Kind.EXCLAMATION})
_TOUCHING_MARKS = CLOSERS | {Kind.TAIL, Kind.EMPHASIS}
_SPACED_MARKS = TERMINATORS | {Kind.TAIL}

_Row = tuple[Verdict, Mapping[Kind, Verdict]]
_CLAUSE_GOES_ON = dict.fromkeys((Kind.PAUSE, Kind.WIDE_PAUSE, Kind.ENUMERATION), Verdict.JOIN)
_NOT_AFTER_PAUSE = dict.fromkeys((*PAUSES, *TERMINATORS), Verdict.JOIN)
_LOOK_PAST = dict.fromkeys(
    (Kind.OPEN, Kind.SYMBOL, Kind.TAIL, Kind.EMPHASIS, *CLOSERS, *PAUSES, *TERMINATORS),
    Verdict.WAIT,
)
_JOIN: _Row = (Verdict.JOIN, {})
_WIDE: _Row = (Verdict.PAUSE, _NOT_AFTER_PAUSE)

_TOUCHING: Mapping[Mark, _Row] = {
    Kind.STOP: (Verdict.CUT, _CLAUSE_GOES_ON),
    Kind.QUESTION: (Verdict.CUT, _CLAUSE_GOES_ON | {Kind.SYMBOL: Verdict.JOIN}),
    Kind.EXCLAMATION: (Verdict.CUT, _CLAUSE_GOES_ON | {Kind.SYMBOL: Verdict.JOIN}),
    Kind.ELLIPSIS: (Verdict.JOIN, {Kind.IDEOGRAPH: Verdict.PAUSE}),
    Stop.WORD: (Verdict.JOIN, {Kind.IDEOGRAPH: Verdict.CUT}),
    Stop.TITLE: _JOIN,
    Stop.NUMBERED: _JOIN,
    Stop.NAME: _JOIN,
    Stop.LIST: _JOIN,
    Kind.PAUSE: (Verdict.JOIN, {Kind.IDEOGRAPH: Verdict.PAUSE}),
    Kind.WIDE_PAUSE: _WIDE,
    Kind.DASH: _WIDE,
    Kind.ENUMERATION: _WIDE,
}
"""Mark and the kind of character that touches it to the verdict; the first is the default."""

_SPACED: Mapping[Mark, _Row] = {
    Kind.STOP: (Verdict.CUT, _LOOK_PAST),
    Kind.QUESTION: (Verdict.CUT, _LOOK_PAST),
    Kind.EXCLAMATION: (Verdict.CUT, _LOOK_PAST | {Kind.LOWER: Verdict.JOIN}),
    Kind.ELLIPSIS: (Verdict.CUT, _LOOK_PAST | {Kind.LOWER: Verdict.JOIN}),
    Stop.WORD: (Verdict.CUT, _LOOK_PAST | {Kind.LOWER: Verdict.JOIN}),
    Stop.TITLE: _JOIN,
    Stop.NUMBERED: (
        Verdict.CUT,
        _LOOK_PAST | {Kind.LOWER: Verdict.JOIN, Kind.DIGIT: Verdict.JOIN},
    ),
    Stop.NAME: (Verdict.JOIN, _LOOK_PAST | {Kind.UPPER: Verdict.WORD}),
    Stop.LIST: _JOIN,
    Kind.NEWLINE: (Verdict.CUT, {Kind.LOWER: Verdict.JOIN, Kind.OPEN: Verdict.WAIT}),
    **dict.fromkeys(PAUSES, (Verdict.PAUSE, {})),
}
"""Mark and the kind of character that follows it after space to the verdict."""

_STRENGTH: Mapping[Mark, int] = {
    mark: strength
    for strength, mark in enumerate(
        (Kind.ELLIPSIS, Kind.EXCLAMATION, Kind.QUESTION, Kind.STOP), start=1
    )
}


def stronger(mark: Mark, kind: Kind) -> Mark:
    """Return what `mark` is with another terminator of `kind` behind it: "..." or "?!"."""
    new = Kind.ELLIPSIS if kind is Kind.DOT else kind
    return max(mark, new, key=lambda m: _STRENGTH.get(m, 0))


def judge(boundary: Boundary, char: str, kind: Kind, context: Context) -> Verdict:
    """Return what `char`, of `kind`, decides about `boundary`.

    Space is not judged here: it is the caller that sees it.
    """
    if boundary.word is not None:
        return _judge_word(boundary.word, char, kind)
    if context.adjacent and _extends(boundary, kind, context):
        return Verdict.EXTEND
    if verdict := _judge_by_context(boundary, kind, context):
        return verdict
    default, row = (_SPACED if boundary.spaced else _TOUCHING)[boundary.mark]
    verdict = row.get(kind, default)
    if verdict is Verdict.WORD and char.lower() not in STARTER_BEGINNINGS:
        return Verdict.JOIN
    return verdict


def _extends(boundary: Boundary, kind: Kind, context: Context) -> bool:
    if not boundary.spaced:
        return kind in _TOUCHING_MARKS or (kind in TERMINATORS and boundary.mark in SENTENCE_MARKS)
    if boundary.mark not in SENTENCE_MARKS:
        return False
    return kind in _SPACED_MARKS or (context.open and kind in CLOSERS - {Kind.APOSTROPHE})


def _judge_by_context(boundary: Boundary, kind: Kind, context: Context) -> Verdict | None:
    mark = boundary.mark
    if boundary.bracketed and not boundary.spaced:
        return Verdict.JOIN
    if kind is Kind.DIGIT and boundary.numeric and mark in PAUSES:
        return Verdict.JOIN
    if kind is Kind.LOWER and boundary.closed and mark is not Kind.STOP:
        return Verdict.JOIN
    if kind is Kind.LOWER and context.lower_case and boundary.spaced and mark in _UNCASED:
        return Verdict.CUT
    if context.address and kind is not Kind.IDEOGRAPH and mark in _IN_ADDRESSES:
        return Verdict.JOIN
    return None


def _judge_word(word: str, char: str, kind: Kind) -> Verdict:
    if kind in {Kind.UPPER, Kind.LOWER}:
        grown = word + char.lower()
        return Verdict.WAIT if grown in STARTER_BEGINNINGS else Verdict.JOIN
    if kind in {Kind.DOT, Kind.DIGIT, Kind.TAIL}:
        return Verdict.JOIN
    return begins_sentence(word)


def begins_sentence(word: str) -> Verdict:
    """Return what the whole `word` after a doubtful full stop decides."""
    return Verdict.CUT if word in STARTERS else Verdict.JOIN
