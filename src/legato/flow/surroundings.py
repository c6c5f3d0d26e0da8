"""What a reader remembers at each character: the word, the line, the sentence, the quotation."""

from __future__ import annotations

from dataclasses import dataclass

from legato.flow.punctuation import Kind

NESTED_CHARS = 80
"""Brackets and quotes that are longer may be cut at the sentences inside."""
SHORT_LINE_COLUMNS = 50
"""A line that ends earlier was ended on purpose (title, list, verse), not wrapped."""
WORD_CHARS = 24
"""No longer word has a meaning here."""

LETTERS = frozenset({Kind.UPPER, Kind.LOWER, Kind.LETTER, Kind.DIGIT})
SPACES = frozenset({Kind.SPACE, Kind.NEWLINE})
_IN_WORD = LETTERS | {Kind.DOT, Kind.APOSTROPHE}
_CLOSERS = frozenset({Kind.CLOSE_BRACKET, Kind.CLOSE_QUOTE})
_ADDRESS_SIGNS = frozenset("/@=&\\")
_COLONS = frozenset(":：")


@dataclass(slots=True)
class Surroundings:
    """Where in the text the next character stands.

    Attributes:
        previous: Kind of the character before; space at the beginning.
        word: The letters, digits, full stops and apostrophes that touch the next character, with
            the sign before them if that is one of addresses.
        leads: Whether `word` is the first of its sentence, of its line or after a colon.
        address: Whether the characters since the last space look like an address or a file name.
        lower_case: Whether the sentence began with a small letter; None before its first letter.
        newlines: Line ends since the last character that is not space.
    """

    previous: Kind = Kind.SPACE
    word: str = ""
    leads: bool = False
    address: bool = False
    lower_case: bool | None = None
    newlines: int = 0
    _at_start: bool = True
    _columns: int = 0
    _brackets: int = 0
    _quoted: bool = False
    _inside: int = 0

    @property
    def open(self) -> bool:
        """Whether a bracket or quote is open."""
        return self._brackets > 0 or self._quoted

    @property
    def nested(self) -> bool:
        """Whether the place is inside a bracket or quote that is (so far) short."""
        return self.open and self._inside <= NESTED_CHARS

    @property
    def in_short_line(self) -> bool:
        """Whether the line is too short to have been wrapped."""
        return self._columns < SHORT_LINE_COLUMNS

    def role(self, char: str, kind: Kind) -> Kind:
        """Return what `char` is here: an ASCII quote opens, closes or means inches."""
        if kind is Kind.QUOTE:
            if self._quoted and self.previous not in SPACES and self.previous is not Kind.OPEN:
                return Kind.CLOSE_QUOTE
            if self.previous is Kind.DIGIT and not self._quoted:
                return Kind.SYMBOL
            return Kind.OPEN
        if char == "(" and self.previous is Kind.PAUSE:
            return Kind.SYMBOL
        return kind

    def read(self, char: str, kind: Kind, size: int) -> None:
        """Take in `char` with its role; `size` is its length in Latin characters."""
        if kind in _IN_WORD:
            self._read_word(char, kind)
        elif kind is not Kind.TAIL:
            self.word = char if char in _ADDRESS_SIGNS else ""
        if kind in SPACES or kind is Kind.IDEOGRAPH:
            self.address = False
            self._at_start = self._at_start and kind is not Kind.IDEOGRAPH
        elif char in _ADDRESS_SIGNS:
            self.address = True
        elif char in _COLONS and self.previous is not Kind.DIGIT:
            self._at_start = True
        self._read_nesting(char, kind, size)
        self._read_line(kind, size)
        self.previous = kind

    def end_sentence(self) -> None:
        """Begin a new sentence with the next word."""
        self._at_start = True
        self.lower_case = None

    def begin_with_word(self) -> None:
        """Let `word`, which has been read already, begin the new sentence with its capital."""
        self.leads = True
        self._at_start = False
        self.lower_case = False

    def end_paragraph(self) -> None:
        """Forget brackets and quotes that were never closed, and begin a new sentence."""
        self._brackets = 0
        self._quoted = False
        self.end_sentence()

    def _read_word(self, char: str, kind: Kind) -> None:
        if kind in LETTERS:
            if not self.word.strip(".'’"):
                self.leads = self._at_start
            self._at_start = False
            if self.lower_case is None and kind is not Kind.DIGIT:
                self.lower_case = kind is Kind.LOWER
        self.word = (self.word + char)[:WORD_CHARS]

    def _read_nesting(self, char: str, kind: Kind, size: int) -> None:
        self._inside += size
        if kind is Kind.OPEN:
            self._inside = 0
        if char == '"':
            self._quoted = kind is Kind.OPEN
        elif kind is Kind.OPEN:
            self._brackets += 1
        elif kind in _CLOSERS:
            self._brackets = max(0, self._brackets - 1)

    def _read_line(self, kind: Kind, size: int) -> None:
        if kind is Kind.NEWLINE:
            self.newlines += 1
            self._columns = 0
            self._at_start = True
            return
        self._columns += min(size, 2)
        if kind is not Kind.SPACE:
            self.newlines = 0
