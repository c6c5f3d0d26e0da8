"""Text from a pipe, as it comes."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import BinaryIO, Final

from legato.client.sources import TextSource, pieces
from legato.errors import UnsupportedText

READ_BYTES: Final = 4096

ENDS: Final = (
    (12_000, 16_000, re.compile(r"\n\s*\n")),
    (16_000, 18_000, re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]")),
    (18_000, 20_000, re.compile(r"\s")),
)
"""Between so many characters an utterance ends at the first such place: after a paragraph, else
after a sentence, else after a word. A server takes 20,000 in one."""


def piped(stream: BinaryIO) -> Iterator[str]:
    """Yield the text of a pipe piece by piece, without waiting for its end; blocks.

    Raises:
        UnsupportedText: If it is not UTF-8, or holds nothing but white space.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = getattr(stream, "read1", stream.read)
    spoken = False
    while data := read(READ_BYTES):
        text = _decode(decoder, data)
        spoken = spoken or bool(text.strip())
        if text:
            yield text
    _decode(decoder, b"", final=True)
    if not spoken:
        raise UnsupportedText("there is no text to say")


async def portions(text: TextSource, end: Callable[[], None]) -> AsyncGenerator[str, None]:
    """Yield a text piece by piece, and end the utterance before it gets too long.

    Args:
        text: Of any length.
        end: Called between the last piece of an utterance and the first of the next.
    """
    said, due = 0, False
    async with aclosing(pieces(text)) as source:
        async for piece in source:
            rest = piece
            while rest := rest.lstrip() if due else rest:
                if due:
                    end()
                    said, due = 0, False
                cut = _cut(rest, said)
                due = cut is not None
                said += len(rest[:cut])
                yield rest[:cut]
                rest = "" if cut is None else rest[cut:]


def _cut(text: str, said: int) -> int | None:
    """Return where an utterance of which `said` characters are out ends in `text`, if it does."""
    for least, most, place in ENDS:
        found = place.search(text, max(0, least - said), max(0, most - said))
        if found is not None:
            return found.end()
    return None


def _decode(decoder: codecs.IncrementalDecoder, data: bytes, *, final: bool = False) -> str:
    try:
        return decoder.decode(data, final=final)
    except UnicodeDecodeError as error:
        raise UnsupportedText(f"the text is not UTF-8: {error.reason}") from error
