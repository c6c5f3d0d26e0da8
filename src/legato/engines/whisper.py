"""Whisper by faster-whisper: Silero finds segments, each is decoded, partials by decoding again.

It listens as moonshine does, and what is final is a function of the samples alone just as there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from legato.audio import AudioChunk
from legato.engines import silero, whisper_model
from legato.engines.base import Ability, Checkpoint, EngineInfo, EngineKind
from legato.engines.endpointing import Segment
from legato.engines.installation import add_command, version
from legato.engines.moonshine import FORMAT, rules
from legato.engines.moonshine_model import Hypothesis
from legato.engines.segments import SegmentRecognition, Written
from legato.engines.silero import WINDOW, Silero, SpeechProbability
from legato.engines.whisper_model import (
    ENGLISH,
    EXTRA,
    NAME,
    Config,
    Manner,
    Samples,
    WhisperModel,
    whisper_language,
)
from legato.errors import EngineUnavailable, UnsupportedFormat, UnsupportedOption
from legato.speech import RecognitionRequest, Transcript
from legato.speech.wishes import refuse

_STEP: Final = 0.5
"""Seconds of new audio after which an open segment is decoded again, at the earliest."""

_RARER: Final = 0.4
"""Of moonshine's wait, so that partials take up to half the time and not a fifth."""

_ABILITIES: Final = frozenset({Ability.HOTWORDS, Ability.PUNCTUATION})


class Whisper:
    """A recognizer of one of Whisper's models; several streams share its weights.

    Args:
        clock: Monotonic seconds; tells whether audio has piled up.
        options: Fields of `legato.engines.whisper_model.Config`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    add_command = add_command(EXTRA)

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, **options: object) -> None:
        self._clock = clock
        try:
            self._config = msgspec.convert(options, Config)
        except msgspec.ValidationError as error:
            raise EngineUnavailable(f"{NAME}: {error}; see docs/whisper.md") from error
        model = Path(self._config.model)
        self.info = EngineInfo(
            name=NAME,
            kind=EngineKind.RECOGNIZE,
            version="+".join(filter(None, (version("faster-whisper"), model.name))),
            format=FORMAT,
            languages=("mul",),
            slots=self._config.slots,
            licence="MIT",
            abilities=_ABILITIES,
        )
        self._networks: tuple[WhisperModel, Silero] | None = None

    def check(self) -> None:
        """Look for package, model and Silero without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the line that adds it.
        """
        silero.check()
        whisper_model.check(self._config)

    def load(self) -> None:
        if self._networks is not None:
            return
        self.check()
        model, vad = WhisperModel(self._config), Silero()
        second = np.zeros(FORMAT.sample_rate, np.float32)
        SpeechProbability(vad).accept(second[:WINDOW])
        model.write(second, Manner(language=ENGLISH))
        detects = {Ability.LANGUAGE_DETECTION} if model.is_multilingual else set()
        self.info = replace(
            self.info,
            languages=model.languages,
            deterministic=model.is_on_processor,
            abilities=_ABILITIES.union(detects),
        )
        self._networks = model, vad

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        if self._networks is None:
            raise EngineUnavailable(f"{NAME} is not loaded yet")
        model, vad = self._networks
        transcriber = _Transcriber(model, self._manner(request, model))
        speech = SpeechProbability(vad)
        recognition = _Recognition(transcriber, speech, rules(request.endpointing), self._clock)
        before = self._clock()
        for chunk in audio:
            if chunk.format != FORMAT:
                raise UnsupportedFormat(f"{NAME} takes 16000 Hz mono, not {chunk.format}")
            recognition.accept(chunk.pcm, self._clock() - before)
            yield from recognition.advance()
            before = self._clock()
        yield from recognition.finish()

    def close(self) -> None:
        self._networks = None

    def _manner(self, request: RecognitionRequest, model: WhisperModel) -> Manner:
        """Return how a stream is to be written.

        Raises:
            UnsupportedOption: If something is asked for that Whisper does not do.
        """
        refuse(request.options, engine=NAME)
        if request.inverse_normalization:
            raise UnsupportedOption(
                f"{NAME} writes numbers as its model was trained to, mostly as figures; leave"
                " options.inverse_normalization out, or false for words"
            )
        language = whisper_language(request.language)
        if language is not None and language not in map(whisper_language, model.languages):
            raise UnsupportedOption(
                f"this model of {NAME} does not know the language {request.language!r}; it knows"
                f" {', '.join(model.languages)}"
            )
        return Manner(
            # The package would warn of any other.
            language=language if model.is_multilingual else ENGLISH,
            hotwords=model.prompt(request.hotwords),
            figures=request.inverse_normalization is not False,
        )


class _Recognition(SegmentRecognition):
    """Guesses more often: each costs Whisper half a second at least, however short the audio."""

    def _guess(self, segment: Segment, decode: Callable[[], Hypothesis]) -> Iterator[Transcript]:
        yield from super()._guess(segment, decode)
        self._search.step = max(_STEP, self._search.step * _RARER)


class _Transcriber:
    """The model as what writes the segments of one stream."""

    def __init__(self, model: WhisperModel, manner: Manner) -> None:
        self._model = model
        self._manner = manner
        self._found: str | None = None

    def transcribe(self, audio: Samples, draft: Sequence[int] | None = None) -> Written:
        """Return the text of a stretch of audio; with a draft, even an empty one, it is a guess."""
        manner = self._manner
        if draft is None:
            return self._model.write(audio, manner)
        # Finding the language costs as much again: guesses at one segment find it once.
        known = manner.language or self._found
        written = self._model.write(audio, replace(manner, final=False, language=known))
        self._found = whisper_language(written.language) if written.text else None
        return written

    def forget(self) -> None:
        """Begin a segment, whose language may be another."""
        self._found = None
