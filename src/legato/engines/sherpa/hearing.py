"""The recognition of one stream by a model that takes audio piece by piece.

Silero finds what is spoken, and each utterance has a decoding of its own, which begins and ends
with it. So what is final is a function of the samples alone, nothing is decoded while nobody
speaks, and another worker that begins where this one had finished an utterance writes the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from legato.engines.base import Checkpoint
from legato.engines.endpointing import Endpointer, Rules, Segment
from legato.engines.moonshine import FORMAT, SpeechDetector
from legato.engines.segments import Written, placed
from legato.engines.silero import WINDOW
from legato.engines.tape import Tape
from legato.speech import Transcript

LONGEST: Final = math.ceil(20.0 * FORMAT.sample_rate / WINDOW)
"""Windows after which an utterance is cut, as by the third rule of sherpa-onnx's endpointing."""

_FORGET: Final = math.ceil(1.0 * FORMAT.sample_rate / WINDOW)
"""Windows of silence after which audio is forgotten."""


class Decoding(Protocol):
    """The decoding of one utterance."""

    def guess(self, audio: NDArray[np.float32]) -> Written:
        """Take what is new, and return what was said so far."""

    def finish(self, audio: NDArray[np.float32]) -> Written:
        """Take the last, and return what was said."""


class Writer(Protocol):
    """A model as one stream uses it."""

    def begin(self) -> Decoding:
        """Return a new decoding."""


class StreamingRecognition:
    """The recognition of one stream.

    Args:
        writer: What writes.
        speech: What hears whether there is speech in this stream.
        rules: When utterances end.
    """

    def __init__(self, writer: Writer, speech: SpeechDetector, rules: Rules) -> None:
        self._writer = writer
        self._speech = speech
        self._rules = rules
        self._tape = Tape()
        self._search = _Search(0, Endpointer(rules))

    def accept(self, pcm: bytes, _waited: float) -> None:
        """Take the next samples.

        Args:
            pcm: s16le, 16 kHz, mono.
        """
        self._tape.append(pcm)

    def advance(self) -> Iterator[Transcript | Checkpoint]:
        """Listen to all whole windows that are there; then show what an open utterance says."""
        while self._search.position + WINDOW <= self._tape.end:
            yield from self._listen()
        search = self._search
        segment = search.endpointer.open
        if segment is None:
            return
        heard = self._decoding().guess(self._new(segment))
        if heard.text and heard.text != search.shown:
            search.shown = heard.text
            yield Transcript(
                text=heard.text,
                final=False,
                start=search.sample(segment.onset),
                end=search.position,
                language=heard.language,
            )

    def finish(self) -> Iterator[Transcript | Checkpoint]:
        """Make final what is open; no samples will follow."""
        while True:
            while self._search.position < self._tape.end:
                yield from self._listen()
            segment = self._search.endpointer.finish()
            if segment is None:
                break
            yield from self._final(segment)  # and listen to what lies behind it
        if self._search.start < self._tape.end:
            yield Checkpoint(self._tape.end)

    def _listen(self) -> Iterator[Transcript | Checkpoint]:
        """Hear the next window, and write down or forget what is done with."""
        search = self._search
        window = self._tape.read(search.position, search.position + WINDOW)
        search.position += WINDOW
        power = float(np.square(window).mean())
        segment = search.endpointer.accept(self._speech.accept(window), power)
        if segment is not None:
            yield from self._final(segment)
        elif search.endpointer.silent:
            done = search.endpointer.windows - self._rules.preroll
            if done >= _FORGET:
                yield self._restart(search.sample(done))

    def _decoding(self) -> Decoding:
        if self._search.decoding is None:
            self._search.decoding = self._writer.begin()
        return self._search.decoding

    def _new(self, segment: Segment) -> NDArray[np.float32]:
        """Return the audio of an utterance that its decoding has not had."""
        search = self._search
        start = max(search.given, search.sample(segment.start))
        search.given = max(min(search.position, self._tape.end), start)
        return self._tape.read(start, search.given)

    def _written(self, segment: Segment, end: int) -> Written:
        search, endpointer = self._search, self._search.endpointer
        if segment.end < endpointer.windows and segment != endpointer.pausing:
            # It was cut; its decoding has heard what lies beyond, which is decoded next.
            audio = self._tape.read(search.sample(segment.start), end)
            return self._writer.begin().finish(audio)
        return self._decoding().finish(self._new(segment))

    def _final(self, segment: Segment) -> Iterator[Transcript | Checkpoint]:
        search = self._search
        end = min(search.sample(segment.end), self._tape.end)
        heard = self._written(segment, end)
        if heard.text:
            said = Transcript(
                text=heard.text,
                final=True,
                start=search.sample(segment.onset),
                end=end,
                confidence=heard.confidence or None,
                language=heard.language,
            )
            first = FORMAT.seconds(search.sample(segment.start))
            yield replace(said, words=placed(heard.words, first, said))
        yield self._restart(end)

    def _restart(self, sample: int) -> Checkpoint:
        """Forget all audio before `sample` and listen anew from there."""
        self._tape.forget(sample)
        self._speech.reset()
        self._search = _Search(sample, Endpointer(self._rules))
        return Checkpoint(sample)


class _Search:
    """The search for one utterance; whatever is known of its audio ends with it.

    Attributes:
        start: Sample from which it began.
        endpointer: Its decisions so far.
        position: Sample after the last window heard.
        given: Sample up to which its decoding has the audio.
        decoding: Of the open utterance.
        shown: The last partial.
    """

    def __init__(self, start: int, endpointer: Endpointer) -> None:
        self.start = self.position = self.given = start
        self.endpointer = endpointer
        self.decoding: Decoding | None = None
        self.shown = ""

    def sample(self, window: int) -> int:
        """Return the first sample of a window."""
        return self.start + window * WINDOW
