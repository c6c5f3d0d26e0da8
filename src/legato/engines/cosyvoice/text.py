"""Text as CosyVoice is given it: cleaned, bounded, with the end of the prompt where it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from legato.engines.cosyvoice.directory import Version
from legato.engines.markup import letters_of, spoken, unread
from legato.errors import UnsupportedText
from legato.speech.scripts import is_speakable, kanji_in, unspeakable

END_OF_PROMPT: Final = "<|endofprompt|>"
ASSISTANT: Final = "You are a helpful assistant."
"""How prompts of version 3 begin."""

LONGEST: Final = 200
"""Characters of one request: a bound of what has to be finished after a cancel, and of memory,
which grows with each chunk as version 2 computes all before it again."""

_ENDS: Final = re.compile(r"[。！？!?；;\n]|\.(?=\s)|[，、,：:](?=\s|[^\x00-\x7f])|\s")
_TOKEN: Final = re.compile(r"<\|.*?\|>", re.DOTALL)
_TO_KATAKANA: Final = {code: code + 0x60 for code in range(0x3041, 0x3097)}
_IS_3: Final = 3


def readable(text: str, version: Version, *, control_tokens: bool = False) -> str:
    """Return a text as the model should read it, "" if there is nothing to say.

    Raises:
        UnsupportedText: If a character cannot be read, or there is a control token.
    """
    if not control_tokens and "<|" in text and "|>" in text:
        found = _TOKEN.search(text)
        what = found.group() if found else "<| |>"
        raise UnsupportedText(
            f"cosyvoice takes no control tokens such as {what[:40]!r} from a text; leave it out,"
            " or have the operator set control_tokens",
            characters="<|>",
        )
    foreign = unspeakable(text, version.scripts) or unread(text)
    if version.number == _IS_3:
        foreign = foreign or kanji_in(text)  # it reads Japanese as katakana only
        text = text.translate(_TO_KATAKANA)
    if foreign:
        raise UnsupportedText(f"cosyvoice cannot speak {foreign!r}", characters=foreign)
    clean = spoken(text)
    if is_speakable(clean):
        return clean
    if is_speakable(text):
        raise UnsupportedText(
            f"cosyvoice finds nothing to say in {text[:40]!r}", characters=letters_of(text)
        )
    return ""


def bounded(text: str) -> Iterator[str]:
    """Cut a text into parts of at most 200 characters, where a voice may breathe if possible."""
    while len(text) > LONGEST:
        head = text[:LONGEST]
        ends = [(_rank(match.group()), match.end()) for match in _ENDS.finditer(head)]
        late = [end for end in ends if end[1] > LONGEST // 3]
        cut = max(late, default=(0, LONGEST))[1]
        yield text[:cut].strip()
        text = text[cut:]
    if text.strip():
        yield text.strip()


def _rank(mark: str) -> int:
    """How good a place after a mark is: after a sentence, after a clause, between words."""
    if mark in "。！？!?；;\n.":
        return 2
    return 0 if mark.isspace() else 1


def zero_shot_prompt(transcript: str, version: Version) -> str:
    """Return the transcript of a recording as the version wants it."""
    if version.number < _IS_3 or END_OF_PROMPT in transcript:
        return transcript
    return f"{ASSISTANT}{END_OF_PROMPT}{transcript}"


def instruction(text: str, version: Version) -> str:
    """Return an instruction as the version wants it, with one end of the prompt where it must be.

    Version 1 puts an end of its own.
    """
    bare = text.replace(END_OF_PROMPT, "").strip()
    if version.number == 1:
        return bare
    if version.number == _IS_3 and not bare.startswith(ASSISTANT):
        bare = f"{ASSISTANT} {bare}"
    return f"{bare}{END_OF_PROMPT}"


def cross_lingual(text: str, version: Version) -> str:
    """Return a text to be said in a foreign voice; version 3 wants a prompt before it."""
    if version.number < _IS_3 or END_OF_PROMPT in text:
        return text
    return f"{ASSISTANT}{END_OF_PROMPT}{text}"


def spaced(text: str, clean: str) -> str:
    """Return a clean piece of a text with the white space that sets it off from its neighbours."""
    before = " " if text[:1].isspace() else ""
    return f"{before}{clean}{' ' if text[-1:].isspace() else ''}"
