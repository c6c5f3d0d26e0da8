"""The sounds of a text for models that take phonemes, Piper's above all.

sherpa-onnx 2 has no letter-to-sound rules of its own: those of eSpeak NG are GPL, and are used here
only where the user has installed it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from typing import Final

_CLAUSES: Final = re.compile(r"([,.;:!?…，。；：！？、—]+)(?=\s|$|[^\x00-\x7f])")
_SWITCH: Final = re.compile(r"\([a-z-]+\)")
"""What eSpeak NG writes where it changes to the rules of another language."""

_PLAIN: Final = str.maketrans("，。；：！？、…—", ",.;:!?,.,")


def phonemes(text: str, sounds: Callable[[str], str], known: Collection[str]) -> str:
    """Return the sounds of a sentence, with the marks by which its melody is known.

    Args:
        text: The sentence.
        sounds: Gives the sounds of a clause, in IPA.
        known: The model's tokens; what is not among them, even taken apart, is left out.
    """
    parts = []
    for number, clause in enumerate(_CLAUSES.split(text)):
        if number % 2:
            parts.append(clause[0].translate(_PLAIN) + " ")
        elif clause.strip():
            parts.append(_SWITCH.sub("", sounds(clause.strip())).strip())
    whole = "".join(parts).strip()
    return "".join(_known(char, known) for char in whole).strip()


def _known(char: str, known: Collection[str]) -> str:
    if char in known:
        return char
    return "".join(part for part in unicodedata.normalize("NFD", char) if part in known)
