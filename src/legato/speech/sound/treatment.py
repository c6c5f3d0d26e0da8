"""What is done to one piece of speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from legato.audio import AudioFormat
from legato.speech.sound.edges import Edges, Samples
from legato.speech.sound.limiter import Limiter

SENTENCE_PAUSE: Final = 0.4
"""Seconds of silence kept at the end of a segment."""

CLAUSE_PAUSE: Final = 0.2
WORD_PAUSE: Final = 0.08
"""Seconds kept where another engine goes on within a sentence, behind a comma and without."""

_SENTENCE_ENDS: Final = ".!?…。！？"
_CLAUSE_ENDS: Final = ",;:—，、；："
_CLOSING: Final = "\"”’)]}'」』）》 \n\t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """What is done to one piece of speech; it decides every sample, with the engine's.

    Attributes:
        gain_db: By how much it is raised.
        tail: Seconds of silence kept behind its last sound; None cuts none, there or before.
    """

    gain_db: float = 0.0
    tail: float | None = SENTENCE_PAUSE


class Treated:
    """Treats one piece of speech as it comes.

    Args:
        treatment: What to do.
        form: Of the samples.
    """

    def __init__(self, treatment: Treatment, form: AudioFormat) -> None:
        self._form = form
        self._edges = Edges(form, tail=treatment.tail)
        self._limiter = Limiter(form, gain_db=treatment.gain_db)

    def push(self, pcm: bytes) -> bytes:
        """Return what can be given so far.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
        """
        count = self._form.samples_in(pcm)
        audio = np.frombuffer(pcm, "<i2").reshape(count, self._form.channels)
        return _bytes(self._limiter.push(self._edges.push(audio)))

    def end(self) -> bytes:
        """Return what was held back; nothing may be pushed after it."""
        last = self._limiter.push(self._edges.end())
        return _bytes(last) + _bytes(self._limiter.end())


def pause_within(text: str) -> float:
    """Return the seconds of silence kept behind a text whose segment goes on."""
    mark = text.rstrip(_CLOSING)[-1:]
    if mark and mark in _SENTENCE_ENDS:
        return SENTENCE_PAUSE
    return CLAUSE_PAUSE if mark and mark in _CLAUSE_ENDS else WORD_PAUSE


def _bytes(audio: Samples) -> bytes:
    return audio.astype("<i2").tobytes()
