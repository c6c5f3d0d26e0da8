"""Recognition segment by segment for networks that tell more than text: words and languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from legato.engines.base import Checkpoint
from legato.engines.endpointing import Segment
from legato.engines.moonshine import FORMAT, Recognition
from legato.engines.moonshine_model import Hypothesis
from legato.speech import Transcript, Word


@dataclass(frozen=True, slots=True)
class Written(Hypothesis):
    """What a network takes a stretch of audio to say.

    Attributes:
        words: With times in seconds from the stretch's first sample.
        language: BCP 47 tag.
    """

    words: tuple[Word, ...] = ()
    language: str | None = None


NOTHING = Written("", (), 0.0)


class SegmentTranscriber(Protocol):
    """What writes the segments of one stream, one after another."""

    def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] | None = None) -> Written:
        """Return the text of a segment as far as it was heard.

        Args:
            audio: From the segment's first sample.
            draft: Of the last guess; None where the text is to be final.
        """

    def forget(self) -> None:
        """Begin another segment."""


class SegmentRecognition(Recognition):
    """Listens as moonshine does; see `legato.engines.moonshine.Recognition`."""

    _model: SegmentTranscriber

    def _told(self, said: Transcript, hypothesis: Hypothesis, segment: Segment) -> Transcript:
        if not isinstance(hypothesis, Written):
            return said
        if not said.final:
            return replace(said, language=hypothesis.language)
        first = FORMAT.seconds(self._search.sample(segment.start))
        return replace(
            said,
            words=placed(hypothesis.words, first, said),
            confidence=hypothesis.confidence or None,
            language=hypothesis.language,
        )

    def _restart(self, sample: int) -> Checkpoint:
        self._model.forget()
        return super()._restart(sample)


def placed(words: Iterable[Word], first: float, said: Transcript) -> tuple[Word, ...]:
    """Return words at their place in the stream, in order and inside their transcript.

    Args:
        words: With times in seconds from the audio that was decoded.
        first: Seconds at which that began.
        said: Their transcript.
    """
    low, high = FORMAT.seconds(said.start), FORMAT.seconds(said.end)
    found: list[Word] = []
    for word in words:
        start = min(max(low, first + word.start), high)
        end = min(max(start, first + word.end), high)
        found.append(replace(word, start=start, end=end))
        low = start
    return tuple(found)
