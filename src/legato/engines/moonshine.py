"""English recognition: Silero endpointing, Moonshine on each segment, partials by re-decoding.

What is final is a function of the samples alone: it depends neither on the size of the chunks nor
on how fast they come; only where more speak at once than can be served are long segments cut
sooner. Whenever audio is done with, everything starts anew from that sample, so that another worker
that begins there writes the same text.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat
from legato.engines import moonshine_model, silero
from legato.engines.agreement import LocalAgreement
from legato.engines.base import Ability, Checkpoint, EngineInfo, EngineKind
from legato.engines.endpointing import Endpointer, Rules, Segment
from legato.engines.installation import version
from legato.engines.live_load import OVERDUE, Crowd, processors
from legato.engines.moonshine_model import Hypothesis, MoonshineModel
from legato.engines.silero import WINDOW, Silero, SpeechProbability
from legato.engines.tape import Tape
from legato.errors import EngineUnavailable, UnsupportedFormat
from legato.speech import Endpointing, RecognitionRequest, Transcript
from legato.speech.scripts import Script
from legato.speech.wishes import refuse, refuse_words_for_numbers

FORMAT: Final = AudioFormat(silero.SAMPLE_RATE_HZ)

_STEP: Final = 0.5
"""Seconds of new audio after which an open segment is decoded again, at the earliest."""

_FIRST_STEP: Final = 0.3
"""The same as long as nothing is shown: short audio is decoded fast, and the speaker waits."""

_SHARE: Final = 0.2
"""Share of the time that partials may take: the costlier the last, the later the next."""

_LEISURE: Final = 0.1
"""Partials are left out while less than this share of the audio's duration was spent waiting for
it: then audio has piled up, and what is final must come first."""

_FORGET: Final = math.ceil(1.0 * FORMAT.sample_rate / WINDOW)
"""Windows of silence after which audio is forgotten."""

_CAP: Final = math.ceil(8.0 * FORMAT.sample_rate / WINDOW)
"""Windows at which a segment is cut while too many speak at once: its final is then decoded in a
fifth of a second."""

_STREAMS: Final = 12
"""Streams for each processor. Finals alone take 4 % of one each; what is left is for partials."""

_LANGUAGE: Final = "en"


def rules(endpointing: Endpointing) -> Rules:
    """Return when segments end, in windows of Silero."""
    if endpointing.silence is None:
        return Rules(threshold=endpointing.threshold, silence=None)
    windows = math.ceil(FORMAT.samples(endpointing.silence) / WINDOW)
    return Rules(threshold=endpointing.threshold, silence=max(windows, 1))


class Moonshine:
    """The default recognizer; several streams share one copy of the weights.

    Args:
        threads: Threads for one decode.
        clock: Monotonic seconds; tells whether audio has piled up.

    Attributes:
        crowd: All streams that it serves.
    """

    def __init__(self, *, threads: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        cores = processors()
        self.info = EngineInfo(
            name="moonshine",
            kind=EngineKind.RECOGNIZE,
            version=version("moonshine-voice"),
            format=FORMAT,
            scripts=frozenset({Script.LATIN}),
            languages=(_LANGUAGE,),
            slots=_STREAMS * min(cores, 8),
            deterministic=True,
            forkable=True,
            licence="MIT",
            abilities=frozenset({Ability.PUNCTUATION}),
        )
        self._threads = threads
        self._clock = clock
        self.crowd = Crowd(cores)
        self._networks: tuple[MoonshineModel, Silero] | None = None

    @property
    def degraded(self) -> bool:
        """Whether more speak at once than can be served as one alone would be."""
        return self.crowd.load.strained(self._clock())

    def check(self) -> None:
        """Look for packages and weights without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the line that adds it.
        """
        silero.check()
        moonshine_model.check()

    def load(self) -> None:
        if self._networks is not None:
            return
        model, vad = MoonshineModel(threads=self._threads), Silero()
        second = np.zeros(FORMAT.sample_rate, np.float32)
        SpeechProbability(vad).accept(second[:WINDOW])
        model.transcribe(second)
        self._networks = model, vad

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        if self._networks is None:
            raise EngineUnavailable("moonshine is not loaded yet")
        refuse(request.options, engine=self.info.name)
        refuse_words_for_numbers(request.inverse_normalization, engine=self.info.name)
        model, vad = self._networks
        speech = SpeechProbability(vad)
        endpointing = rules(request.endpointing)
        recognition = Recognition(model, speech, endpointing, self._clock, crowd=self.crowd)
        before = self._clock()
        try:
            for chunk in audio:
                if chunk.format != FORMAT:
                    raise UnsupportedFormat(f"moonshine takes 16000 Hz mono, not {chunk.format}")
                recognition.accept(chunk.pcm, self._clock() - before)
                yield from recognition.advance()
                before = self._clock()
            yield from recognition.finish()
        finally:
            self.crowd.load.close(recognition)

    def close(self) -> None:
        self._networks = None


class Transcriber(Protocol):
    """What writes: `MoonshineModel`."""

    def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] = ()) -> Hypothesis:
        """Return the text of a stretch of audio."""


class SpeechDetector(Protocol):
    """What hears whether there is speech: `SpeechProbability`."""

    def accept(self, window: NDArray[np.float32]) -> float:
        """Return the probability that the next window holds speech."""

    def reset(self) -> None:
        """Forget all audio."""


class Recognition:
    """The recognition of one stream.

    Args:
        model: What writes.
        speech: What hears whether there is speech in this stream.
        rules: When segments end.
        clock: Monotonic seconds.
        crowd: With whom it shares the processors; None: with nobody.
    """

    def __init__(
        self,
        model: Transcriber,
        speech: SpeechDetector,
        rules: Rules,
        clock: Callable[[], float],
        *,
        crowd: Crowd | None = None,
    ) -> None:
        self._crowd = crowd
        self._live = False
        self._model = model
        self._clock = clock
        self._speech = speech
        self._rules = rules
        self._tape = Tape()
        self._search = _Search(0, Endpointer(rules), clock())

    def accept(self, pcm: bytes, waited: float) -> None:
        """Take the next samples.

        Args:
            pcm: s16le, 16 kHz, mono.
            waited: Seconds for which they had to be waited for.
        """
        self._tape.append(pcm)
        self._search.waited += waited

    def advance(self) -> Iterator[Transcript | Checkpoint]:
        """Listen to all whole windows that are there; then guess at an open segment, if due."""
        while self._search.position + WINDOW <= self._tape.end:
            yield from self._listen()
        yield from self._partial()

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
        probability = self._speech.accept(window)
        longest = _CAP if self._is_strained() else None
        segment = search.endpointer.accept(probability, power, longest=longest)
        if segment is not None:
            yield from self._final(segment)
        elif search.endpointer.silent:
            done = search.endpointer.windows - self._rules.preroll
            if done >= _FORGET:
                yield self._restart(search.sample(done))

    def _partial(self) -> Iterator[Transcript]:
        search = self._search
        segment, pausing = search.endpointer.open, search.endpointer.pausing
        if segment is None:
            self._note_open(False)
            return
        since = max(search.guessed_upto, search.sample(segment.onset))
        heard = FORMAT.seconds(search.position - since)
        if search.waited < _LEISURE * heard:
            self._note_behind(heard)
            return
        self._note_open(True)
        if pausing is not None:
            if search.decoded != pausing and not self._is_strained() and self._may_guess(heard):
                # If the pause lasts, this is the final, ready before it is asked for.
                yield from self._guess(pausing, lambda: self._decode(pausing))
        elif search.endpointer.speaking and heard >= self._step() and self._may_guess(heard):
            audio = self._tape.read(search.sample(segment.start), search.position)
            yield from self._guess(segment, lambda: self._model.transcribe(audio, search.draft))

    def _is_strained(self) -> bool:
        return self._crowd is not None and self._crowd.load.strained(self._clock())

    def _note_open(self, open: bool) -> None:  # noqa: A002  (as of a segment)
        """Note whether somebody speaks, live."""
        if self._crowd is None or open == self._live:
            return
        self._live = open
        if open:
            self._crowd.load.open(self)
        else:
            self._crowd.load.close(self)

    def _note_behind(self, heard: float) -> None:
        """Note that there is no time for a guess; it is missed if there were some before."""
        if self._crowd is None or not self._live or heard <= OVERDUE:
            return
        # Of a burst, or a file, so much is heard in no time.
        now = self._clock()
        if now - self._search.guessed_at > OVERDUE:
            self._crowd.load.note_overdue(now)

    def _step(self) -> float:
        """Return the seconds of new audio after which to guess again."""
        shared = 0.0 if self._crowd is None else self._crowd.load.interval()
        return max(self._search.step, shared)

    def _may_guess(self, heard: float) -> bool:
        """Take a turn for a guess, if nobody else needs it."""
        if self._crowd is None or self._crowd.turns.try_turn():
            return True
        self._note_behind(heard)
        return False

    def _guess(self, segment: Segment, decode: Callable[[], Hypothesis]) -> Iterator[Transcript]:
        """Guess at a segment, in the turn that was taken."""
        search = self._search
        begun = self._clock()
        try:
            hypothesis = decode()
        finally:
            if self._crowd is not None:
                self._crowd.turns.give_back()
        cost = self._clock() - begun
        if self._crowd is not None:
            self._crowd.load.note(cost)
        search.draft = hypothesis.tokens
        search.guessed_upto = search.position
        search.guessed_at = self._clock()
        search.waited = 0.0
        shown = search.agreement.text
        text = search.agreement.accept(hypothesis.text)
        step = _STEP if text else _FIRST_STEP
        search.step = max(step, cost / _SHARE)
        if text != shown:
            start = search.sample(segment.onset)
            said = Transcript(text=text, final=False, start=start, end=search.position)
            yield self._told(said, hypothesis, segment)

    def _decode(self, segment: Segment) -> Hypothesis:
        """Return the final text of a segment, which must not depend on earlier guesses."""
        search = self._search
        if search.decoded != segment:
            search.decoded = segment
            start, end = search.sample(segment.start), self._end(segment)
            search.hypothesis = self._model.transcribe(self._tape.read(start, end))
        return search.hypothesis

    def _final(self, segment: Segment) -> Iterator[Transcript | Checkpoint]:
        with nullcontext() if self._crowd is None else self._crowd.turns.turn():
            hypothesis = self._decode(segment)
        end = self._end(segment)
        if hypothesis.text:
            start = self._search.sample(segment.onset)
            said = Transcript(text=hypothesis.text, final=True, start=start, end=end)
            yield self._told(said, hypothesis, segment)
        yield self._restart(end)

    def _told(self, said: Transcript, hypothesis: Hypothesis, segment: Segment) -> Transcript:
        """Return what is said with all that is known of it; others know more of the segment."""
        del segment
        confidence = hypothesis.confidence if said.final else None
        return replace(said, confidence=confidence, language=_LANGUAGE)

    def _end(self, segment: Segment) -> int:
        return min(self._search.sample(segment.end), self._tape.end)

    def _restart(self, sample: int) -> Checkpoint:
        """Forget all audio before `sample` and listen anew from there."""
        self._tape.forget(sample)
        self._speech.reset()
        self._search = _Search(sample, Endpointer(self._rules), self._clock())
        return Checkpoint(sample)


class _Search:
    """The search for one segment; whatever is known of its audio ends with it.

    Attributes:
        start: Sample from which it began.
        endpointer: Its decisions so far.
        position: Sample after the last window heard.
        guessed_upto: Sample up to which the last guess heard.
        guessed_at: When that was, or when the search began.
        step: Seconds of new audio after which to guess again.
        waited: Seconds of waiting for audio since the last guess.
        agreement: What partials may show.
        draft: Tokens of the last guess.
        decoded: Segment whose final text is known.
        hypothesis: That text.
    """

    def __init__(self, start: int, endpointer: Endpointer, now: float) -> None:
        self.start = self.position = self.guessed_upto = start
        self.guessed_at = now
        self.endpointer = endpointer
        self.step = _FIRST_STEP
        self.waited = 0.0
        self.agreement = LocalAgreement()
        self.draft: tuple[int, ...] = ()
        self.decoded: Segment | None = None
        self.hypothesis = Hypothesis("", (), 0.0)

    def sample(self, window: int) -> int:
        """Return the first sample of a window."""
        return self.start + window * WINDOW
