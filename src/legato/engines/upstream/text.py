"""Text as a hosted voice should be given it: cleaned, and nothing of it passed over."""

from __future__ import annotations

from legato.engines.markup import letters_of, spoken, unread
from legato.errors import UnsupportedText
from legato.speech.scripts import is_speakable


def readable(engine: str, text: str) -> str:
    """Return a text without Markdown, emoji and controls, "" if there is nothing to say.

    Raises:
        UnsupportedText: If letters of it would be lost.
    """
    lost = unread(text)
    if lost:
        raise UnsupportedText(f"{engine} cannot speak {lost!r}", characters=lost)
    clean = spoken(text)
    if is_speakable(clean):
        return clean
    if is_speakable(text):
        raise UnsupportedText(
            f"{engine} finds nothing to say in {text[:40]!r}", characters=letters_of(text)
        )
    return ""
