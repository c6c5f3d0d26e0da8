"""Cut streaming text where a voice may breathe.

One pass, character by character: where the text is cut never depends on how it was handed over,
every character costs the same, and a segment comes out with the character that decides it. Marks
that may end a sentence wait for what follows (`legato.flow.boundaries`): "3." may become "3.5".
"""

from __future__ import annotations

from dataclasses import dataclass

from legato.flow.abbreviations import Stop, stop_after
from legato.flow.boundaries import (
    CLOSERS,
    PAUSES,
    SURE_AT_LINE_END,
    TERMINATORS,
    Boundary,
    Context,
    Mark,
    Verdict,
    begins_sentence,
    judge,
    stronger,
)
from legato.flow.breaks import Break, Breaks, Place, breakable
from legato.flow.punctuation import Kind, kind_of, size_of
from legato.flow.surroundings import LETTERS, SPACES, Surroundings

FIRST_CHARS = 12
"""Two or three words: about a second of speech, in which the next segment is synthesised."""
MAX_CHARS = 200
"""About 13 s of speech: 35 English words or 66 Han characters."""
MIN_MAX_CHARS = 16
LONG_SENTENCE = 0.6
"""Share of `max_chars` from which a sentence is cut at its next clause mark."""

_SPOKEN = LETTERS | {Kind.IDEOGRAPH}
_MARKS = PAUSES | TERMINATORS
_UNBREAKABLE = frozenset[Mark]({Stop.TITLE, Stop.LIST})
"""Full stops at which not even a text that is too long is cut: "Dr. Smith"."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text for one synthesis.

    Attributes:
        text: What to say, without space around it.
        start: Position of its first character among all that were fed since construction.
        end: Position behind its last, where the next segment starts. The space between two belongs
            to the earlier as far as it had arrived when that came out, else to the later.
    """

    text: str
    start: int
    end: int


class Segmenter:
    """Cuts text into segments while it arrives.

    Sizes are counted in Latin characters; a Han, kana or Hangul character counts as three, which is
    about as long as it takes to say. No more than `max_chars` are ever held back.

    Args:
        first_chars: Size from which the first segment ends at a clause mark, so that the first
            audio comes early.
        max_chars: Size that no segment exceeds. Longer sentences are cut at a clause mark, else at
            a conjunction, a space, or anywhere.

    Raises:
        ValueError: If the sizes are out of order or `max_chars` is below `MIN_MAX_CHARS`.
    """

    def __init__(self, *, first_chars: int = FIRST_CHARS, max_chars: int = MAX_CHARS) -> None:
        if max_chars < MIN_MAX_CHARS:
            raise ValueError(f"max_chars is {max_chars}; give at least {MIN_MAX_CHARS}")
        if not 1 <= first_chars <= max_chars:
            raise ValueError(f"first_chars is {first_chars}; give 1 to max_chars ({max_chars})")
        self._first_chars = first_chars
        self._max_chars = max_chars
        self._origin = 0
        self._start = 0
        self._done: list[Segment] = []
        self._boundary: Boundary | None = None
        self._clear()

    def feed(self, text: str) -> list[Segment]:
        """Take in the next text and return the segments that it completes."""
        for char in text:
            kind = kind_of(char)
            if kind in SPACES:
                self._take_space(char, kind)
            else:
                self._take(char, self._around.role(char, kind))
        return self._take_done()

    def flush(self) -> list[Segment]:
        """Return what is left, complete or not; the next text begins a new sentence."""
        boundary = self._boundary
        if boundary and boundary.word and begins_sentence(boundary.word) is Verdict.CUT:
            self._end_sentence(boundary)
        self._cut(self._end)
        self._boundary = None
        self._around = Surroundings()
        return self._take_done()

    def reset(self) -> None:
        """Drop what is left and begin a new utterance, whose first segment is short again."""
        self._origin += len(self._buffer)
        self._start = self._origin
        self._clear()

    @property
    def _end(self) -> Place:
        return Place(len(self._buffer), self._size)

    def _clear(self) -> None:
        self._buffer: list[str] = []
        self._size = 0
        self._spoken = False
        self._first = True
        self._boundary = None
        self._breaks = Breaks()
        self._around = Surroundings()

    def _take_done(self) -> list[Segment]:
        done, self._done = self._done, []
        return done

    def _take(self, char: str, kind: Kind) -> None:
        around, verdict = self._around, Verdict.JOIN
        if boundary := self._boundary:
            context = Context(
                adjacent=boundary.place.chars == len(self._buffer),
                open=around.open,
                address=around.address,
                lower_case=around.lower_case is True,
            )
            verdict = judge(boundary, char, kind, context)
            self._obey(boundary, verdict, char)
        word, before = around.word, around.previous
        self._append(char, kind)
        if self._boundary is None and kind in _MARKS:
            mark = stop_after(word, leads=around.leads) if kind is Kind.DOT else kind
            self._mark(mark, numeric=before is Kind.DIGIT)
        elif self._boundary and verdict is Verdict.EXTEND:
            self._extend(self._boundary, kind)

    def _take_space(self, char: str, kind: Kind) -> None:
        around = self._around
        if self._buffer:
            word, short_line = around.word, around.in_short_line
            self._append(char, kind)
            if self._boundary:
                self._space_after(self._boundary, kind)
            else:
                self._breaks.note_space(word, self._end)
                if kind is Kind.NEWLINE and short_line and self._spoken:
                    self._mark(kind, spaced=True)
        else:
            self._origin += 1
            around.read(char, kind, 1)
        if around.newlines > 1:
            self._end_paragraph()

    def _append(self, char: str, kind: Kind) -> None:
        size = size_of(char)
        if self._buffer and breakable(self._around.previous, kind):
            self._breaks.note(Break.IDEOGRAPH, self._end)
        while self._size + size > self._max_chars:
            self._cut_long(kind)
        self._buffer.append(char)
        self._size += size
        self._around.read(char, kind, size)
        if kind in _SPOKEN:
            self._spoken = True

    def _mark(self, mark: Mark, *, numeric: bool = False, spaced: bool = False) -> None:
        self._boundary = Boundary(
            mark=mark,
            place=self._end,
            nested=self._around.nested,
            numeric=numeric,
            spaced=spaced,
        )

    def _extend(self, boundary: Boundary, kind: Kind) -> None:
        boundary.place = self._end
        boundary.nested = self._around.nested
        boundary.spaced = False
        if kind in TERMINATORS:
            boundary.mark = stronger(boundary.mark, kind)
        elif kind in CLOSERS:
            boundary.closed = True
            boundary.bracketed = kind is Kind.CLOSE_BRACKET

    def _space_after(self, boundary: Boundary, kind: Kind) -> None:
        if boundary.word:
            self._obey(boundary, begins_sentence(boundary.word), "")
        elif boundary.place.chars == len(self._buffer) - 1:
            boundary.place = self._end
            boundary.spaced = True
            if boundary.mark in PAUSES and not boundary.numeric:
                self._pause(boundary)
            elif kind is Kind.NEWLINE and boundary.mark in SURE_AT_LINE_END and not boundary.closed:
                self._end_sentence(boundary)

    def _obey(self, boundary: Boundary, verdict: Verdict, char: str) -> None:
        if verdict is Verdict.WORD or (verdict is Verdict.WAIT and boundary.word):
            boundary.word = (boundary.word or "") + char.lower()
        elif verdict is Verdict.CUT:
            self._end_sentence(boundary)
        elif verdict is Verdict.PAUSE:
            self._pause(boundary)
        elif verdict is Verdict.JOIN:
            self._join(boundary)

    def _end_sentence(self, boundary: Boundary) -> None:
        self._boundary = None
        if boundary.nested or not self._spoken:
            self._breaks.note(Break.PAUSE, boundary.place)
            return
        self._cut(boundary.place)
        self._around.end_sentence()
        if boundary.word:
            self._around.begin_with_word()

    def _end_paragraph(self) -> None:
        self._boundary = None
        self._around.end_paragraph()
        if self._spoken:
            self._cut(self._end)

    def _pause(self, boundary: Boundary) -> None:
        self._boundary = None
        weak = boundary.nested or boundary.mark is Kind.ENUMERATION
        least = self._first_chars if self._first else int(self._max_chars * LONG_SENTENCE)
        if self._spoken and not weak and boundary.place.size >= least:
            self._cut(boundary.place)
        else:
            sort = Break.WEAK_PAUSE if weak else Break.PAUSE
            self._breaks.note(sort, boundary.place)

    def _join(self, boundary: Boundary) -> None:
        self._boundary = None
        if boundary.spaced and boundary.mark not in _UNBREAKABLE:
            self._breaks.note(Break.SPACE, boundary.place)
        elif not boundary.spaced and isinstance(boundary.mark, Stop):
            self._around.address = True

    def _cut_long(self, kind: Kind) -> None:
        boundary = self._boundary
        if boundary and boundary.spaced and boundary.mark not in _UNBREAKABLE:
            self._cut(boundary.place)
        else:
            self._cut(self._breaks.best(self._max_chars // 2) or self._before_tail(kind))

    def _before_tail(self, kind: Kind) -> Place:
        """Return the last place that is not between a letter and its accents."""
        chars, size = len(self._buffer), self._size
        while chars > 1 and kind is Kind.TAIL:
            chars -= 1
            kind = kind_of(self._buffer[chars])
            size -= size_of(self._buffer[chars])
        return Place(chars, size) if kind is not Kind.TAIL else self._end

    def _cut(self, place: Place) -> None:
        text = "".join(self._buffer[: place.chars]).strip()
        del self._buffer[: place.chars]
        self._origin += place.chars
        self._size -= place.size
        self._breaks.drop(place)
        self._spoken = any(kind_of(char) in _SPOKEN for char in self._buffer)
        if boundary := self._boundary:
            boundary.place = boundary.place.after(place)
            if boundary.place.chars <= 0:
                self._boundary = None
        if text:
            self._done.append(Segment(text, self._start, self._origin))
            self._start = self._origin
            self._first = False


def segments(text: str) -> list[Segment]:
    """Return the segments of a whole text, cut with the default sizes."""
    segmenter = Segmenter()
    return segmenter.feed(text) + segmenter.flush()
