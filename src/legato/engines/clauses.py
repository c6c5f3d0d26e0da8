"""Phonemes cut into the parts that a network speaks one by one, and the silence between them.

For engines whose network speaks a whole sentence before any of it is heard, and cannot be stopped
within: a clause is heard earlier, and a cancel waits for no more than one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SHORTEST: Final = 8
"""Phonemes of a first part; less than a word is not spoken well alone."""

_CLAUSE: Final = frozenset(",;:—，、；：")
_SENTENCE: Final = frozenset(".!?…。！？")
_ENDS: Final = _CLAUSE | _SENTENCE
_CLOSING: Final = frozenset("\"”’)]}' ")

_QUIET: Final = 10 ** (-50 / 20)
"""Peak below which a sample counts as silence: noise of VITS in pauses lies below -60 dBFS."""

_FADE: Final = 0.005
_CLAUSE_PAUSE: Final = 0.15
_WORD_PAUSE: Final = 0.03


@dataclass(frozen=True, slots=True)
class Part:
    """Phonemes of one call of the network.

    Attributes:
        phonemes: What it speaks.
        pause: Seconds of silence kept after it; None keeps what the network makes.
    """

    phonemes: Sequence[str]
    pause: float | None


def parts(phonemes: Sequence[str], *, longest: int) -> Iterator[Part]:
    """Cut the phonemes of a sentence, the first time after its first clause.

    Later parts are as long as they may be and end, best first, with a clause, a word, or anywhere.

    Args:
        phonemes: Of one sentence, with its punctuation; each item counts as one.
        longest: Items of one part.
    """
    start, limit = 0, len(phonemes)
    while start < limit:
        head = phonemes[start : start + longest]
        cut = _cut(head, first=start == 0, whole=start + len(head) == limit)
        part = phonemes[start : start + cut]
        start += cut
        if any(not phoneme.isspace() for phoneme in part):
            yield Part(part, None if start >= limit else _pause(part))


def settled(audio: NDArray[np.float32], pause: float | None, rate_hz: int) -> NDArray[np.float32]:
    """Return a part with `pause` seconds of silence at most after its last sound.

    What is cut is faded over 5 ms, so that nothing clicks.
    """
    if pause is None:
        return audio
    loud = np.flatnonzero(np.abs(audio) > _QUIET)
    if not len(loud):
        return audio[: round(pause * rate_hz)]
    end = min(int(loud[-1]) + 1 + round(pause * rate_hz), len(audio))
    kept = audio[:end].copy()
    fade = min(round(_FADE * rate_hz), end)
    kept[end - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    return kept


def _cut(head: Sequence[str], *, first: bool, whole: bool) -> int:
    """Return the length of the next part, of those that fit."""
    ends = [place + 1 for place in range(len(head)) if _is_end(head, place)]
    if first:
        early = next((end for end in ends if end >= SHORTEST), None)
        if early is not None:
            return early
    if whole:
        return len(head)
    words = [place + 1 for place, phoneme in enumerate(head) if phoneme.isspace()]
    # A far better place may lie earlier, but not so early that parts become tiny.
    later = [end for end in ends if end > len(head) // 3] or words
    return later[-1] if later else len(head)


def _is_end(head: Sequence[str], place: int) -> bool:
    """Tell whether a clause ends here; its closing quotation marks go with it."""
    following = head[place + 1] if place + 1 < len(head) else ""
    return head[place] in _ENDS and following not in _ENDS | _CLOSING - {" "}


def _pause(part: Sequence[str]) -> float | None:
    last = next((phoneme for phoneme in reversed(part) if phoneme not in _CLOSING), "")
    if last in _SENTENCE:
        return None
    return _CLAUSE_PAUSE if last in _CLAUSE else _WORD_PAUSE
