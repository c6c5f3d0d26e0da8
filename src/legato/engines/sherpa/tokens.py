"""Tokens of a model: its table, the words that they make, and how hotwords are written in them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Word
from legato.speech.scripts import SYLLABIC, script_of

BLANKS: Final = frozenset({"<blk>", "<eps>", "<blank>"})
"""What a CTC model calls its blank."""

_BYTE: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_UNSPOKEN: Final = re.compile(r"[^\w']+")


def table(path: Path) -> dict[str, int]:
    """Return the tokens of a `tokens.txt`, and their numbers.

    Raises:
        EngineUnavailable: If it is no such file; sherpa-onnx would end the process.
    """
    found = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.strip():
                token, _, number = line.rpartition(" ")
                found[token.rstrip() or " "] = int(number)
    except ValueError as error:
        raise EngineUnavailable(
            f"sherpa-onnx: {path} is no table of tokens; download it again"
        ) from error
    if not found:
        raise EngineUnavailable(f"sherpa-onnx: {path} is empty; download it again")
    return found


def words(
    text: str,
    tokens: Sequence[str],
    times: Sequence[float],
    *,
    length: float,
    marked: bool = False,
) -> tuple[Word, ...]:
    """Return the words of a text, if the times of its tokens are known and they make that text.

    Args:
        text: As the model gives it.
        tokens: A leading blank or "▁" begins a word.
        times: Seconds at which each token begins; a word ends with the next one's beginning.
        length: Seconds of what was decoded, where the last one ends.
        marked: Whether a trailing "@@" joins a token to the next one instead.
    """
    if not tokens or len(tokens) != len(times) or any(map(_BYTE.fullmatch, tokens)):
        return ()
    found: list[Word] = []
    before = ""
    for token, at in zip(tokens, times, strict=True):
        plain = token.replace("▁", " ")
        if not plain.strip():
            before = plain
            continue
        if not found or _begins(plain, before, marked=marked):
            if found:
                found[-1] = replace(found[-1], end=at)
            found.append(Word(plain.strip().removesuffix("@@"), at, max(at, length)))
        else:
            whole = found[-1].text + plain.removesuffix("@@")
            found[-1] = replace(found[-1], text=whole)
        before = plain
    made = "".join(word.text for word in found)
    return tuple(found) if made == "".join(text.split()) else ()


def _begins(token: str, before: str, *, marked: bool) -> bool:
    """Tell whether a token begins a word."""
    if not any(char.isalnum() for char in token):
        return False
    if marked:
        return not before.endswith("@@")
    return token[0] == " " or before.endswith(" ") or _syllabic(token[0]) or _syllabic(before[-1])


def _syllabic(char: str) -> bool:
    return script_of(char) in SYLLABIC


def confidence(log_probabilities: Sequence[float]) -> float | None:
    """Return the geometric mean of the tokens' probabilities, None without any."""
    if not log_probabilities:
        return None
    return min(math.exp(sum(log_probabilities) / len(log_probabilities)), 1.0)


def modeling_unit(tokens: Collection[str], *, vocabulary: bool) -> str:
    """Return in which units hotwords are written, "" if they cannot be.

    Args:
        tokens: Of the model.
        vocabulary: Whether the model comes with the `bpe.vocab` that splits words into its tokens.
    """
    syllabic = sum(len(token) == 1 and _syllabic(token) for token in tokens)
    if vocabulary:
        return "cjkchar+bpe" if syllabic else "bpe"
    return "cjkchar" if syllabic else ""


def hotwords(words: Sequence[str], tokens: Collection[str], unit: str) -> str:
    """Return hotwords as a stream of sherpa-onnx wants them.

    Raises:
        UnsupportedOption: If one cannot be written in the model's tokens, which sherpa-onnx would
            leave out, and others with it.
    """
    letters = set("".join(tokens))
    upper = not any(char.islower() for token in tokens if token[0] != "<" for char in token)
    lines = []
    for word in words:
        plain = " ".join(_UNSPOKEN.sub(" ", word).split())
        plain = plain.upper() if upper else plain.lower()
        known = letters if "bpe" in unit else {token for token in tokens if len(token) == 1}
        foreign = [char for char in plain.replace(" ", "") if char not in known]
        if foreign or not plain:
            raise UnsupportedOption(
                f"sherpa-onnx: this model cannot write the hotword {word!r}; leave it out"
            )
        lines.append(plain)
    return "/".join(lines)
