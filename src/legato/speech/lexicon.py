"""How words are to be said that a voice would say wrongly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

MAX_ENTRIES: Final = 2_000
MAX_WRITTEN_CHARS: Final = 64
MAX_SPOKEN_CHARS: Final = 200


class Lexicon:
    """Puts in what is to be said for what is written.

    The longest entry that fits wins. An entry in lower case fits in any case, one with a capital
    only as it is written. Words with ASCII letters or digits at an end fit whole words only.

    Args:
        entries: What is written to what is to be said in its place; of at most `MAX_ENTRIES`.

    Raises:
        ValueError: If an entry is empty, too long or not text; says which and why.
    """

    def __init__(self, entries: Mapping[str, str]) -> None:
        if len(entries) > MAX_ENTRIES:
            raise ValueError(f"a lexicon has {MAX_ENTRIES} entries at most, not {len(entries)}")
        lengths: dict[str, set[int]] = defaultdict(set)
        for written, spoken in entries.items():
            _check(written, spoken)
            lengths[written[0].lower()].add(len(written))
        self._entries = dict(entries)
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def apply(self, text: str) -> str:
        """Return `text` with what is to be said."""
        said: list[str] = []
        done = at = 0
        while at < len(text):
            if found := self._entry(text, at):
                size, spoken = found
                said += [text[done:at], spoken]
                done = at = at + size
            else:
                at += 1
        return "".join(said) + text[done:]

    def _entry(self, text: str, at: int) -> tuple[int, str] | None:
        """Return the length and the words of the longest entry that fits at a place."""
        for size in self._lengths.get(text[at].lower(), ()):
            written = text[at : at + size]
            spoken = self._entries.get(written) or self._entries.get(written.lower())
            if spoken and _is_whole(text, at, at + size):
                return size, spoken
        return None


def _is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether no ASCII word goes on over either end."""
    starts = start == 0 or not (_is_word(text[start - 1]) and _is_word(text[start]))
    return starts and (end >= len(text) or not (_is_word(text[end - 1]) and _is_word(text[end])))


def _check(written: object, spoken: object) -> None:
    if not isinstance(written, str) or not written.strip() or len(written) > MAX_WRITTEN_CHARS:
        raise ValueError(
            f"a lexicon's entry is written with 1 to {MAX_WRITTEN_CHARS} characters, not"
            f" {str(written)[:80]!r}"
        )
    if not isinstance(spoken, str) or not spoken.strip() or len(spoken) > MAX_SPOKEN_CHARS:
        raise ValueError(
            f"what the lexicon says for {written!r} must be a text of 1 to {MAX_SPOKEN_CHARS}"
            " characters"
        )


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
