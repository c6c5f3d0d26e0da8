"""FunASR's models: Paraformer while one speaks, or SenseVoice and Paraformer segment by segment.

Silero finds where segments begin and end; FunASR's own voice activity model is not needed. What is
final is a function of the samples alone, as with moonshine.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk
from legato.engines import funasr_model, silero
from legato.engines.agreement import words_of
from legato.engines.base import Ability, Checkpoint, EngineInfo, EngineKind
from legato.engines.endpointing import Segment
from legato.engines.funasr_model import (
    NAME,
    SAMPLES_PER_UNIT,
    Config,
    Kind,
    Model,
    hotword_line,
    joined,
    unspaced,
)
from legato.engines.installation import add_command, version
from legato.engines.moonshine import FORMAT, rules
from legato.engines.moonshine_model import Hypothesis
from legato.engines.segments import NOTHING, SegmentRecognition, SegmentTranscriber, Written
from legato.engines.silero import Silero, SpeechProbability
from legato.errors import EngineUnavailable, UnsupportedFormat, UnsupportedOption
from legato.speech import RecognitionRequest, Transcript, Word
from legato.speech.wishes import refuse

_TAG: Final = re.compile(r"<\|([^|]*)\|>")
_SPOKEN: Final = frozenset({"zh", "yue", "en", "ja", "ko"})
"""Languages that SenseVoice names."""

_SHORTEST: Final = 8_000
"""Samples that a shorter segment is padded to: FunASR fails on a few frames."""

_SHORTEST_REST: Final = 2 * SAMPLES_PER_UNIT
"""The same for the end of a stream that comes in strides."""

_ABILITIES: Final = {
    Kind.STREAMING: frozenset[Ability](),
    Kind.WHOLE: frozenset[Ability](),
    Kind.CONTEXTUAL: frozenset({Ability.HOTWORDS}),
    Kind.SENSE_VOICE: frozenset(
        {Ability.PUNCTUATION, Ability.INVERSE_NORMALIZATION, Ability.LANGUAGE_DETECTION}
    ),
}

Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Loaded:
    kind: Kind
    model: Model
    punctuation: Model | None
    silero: Silero


class FunASR:
    """A recognizer of one of FunASR's models; several streams share its weights.

    Args:
        clock: Monotonic seconds; tells whether audio has piled up.
        options: Fields of `legato.engines.funasr_model.Config`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    add_command = add_command("funasr")

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, **options: object) -> None:
        self._clock = clock
        try:
            self._config = config = msgspec.convert(options, Config)
        except msgspec.ValidationError as error:
            raise EngineUnavailable(f"{NAME}: {error}; see docs/funasr.md") from error
        named = (version("funasr"), Path(config.model_dir).name)
        self.info = EngineInfo(
            name=NAME,
            kind=EngineKind.RECOGNIZE,
            version="+".join(filter(None, named)),
            format=FORMAT,
            languages=("zh", "en"),
            slots=config.slots,
            deterministic=config.device == "cpu",
            licence="MIT AND LicenseRef-FunASR-Model",
        )
        self._loaded: _Loaded | None = None

    def check(self) -> None:
        """Look for package, model and Silero without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the way to get it.
        """
        silero.check()
        self._describe(funasr_model.check(self._config))

    def load(self) -> None:
        if self._loaded is not None:
            return
        config = self._config
        kind = funasr_model.check(config)
        self._describe(kind)
        model = Model(config.model_dir, config)
        punctuation = Model(config.punc_model_dir, config) if config.punc_model_dir else None
        self._loaded = _Loaded(kind, model, punctuation, Silero())
        second = np.zeros(FORMAT.sample_rate, np.float32)
        self._transcriber(self._loaded, RecognitionRequest(format=FORMAT)).transcribe(second)

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        loaded = self._loaded
        if loaded is None:
            raise EngineUnavailable(f"{NAME} is not loaded yet")
        recognition = _Recognition(
            self._transcriber(loaded, request),
            SpeechProbability(loaded.silero),
            rules(request.endpointing),
            self._clock,
        )
        before = self._clock()
        for chunk in audio:
            if chunk.format != FORMAT:
                raise UnsupportedFormat(f"{NAME} takes 16000 Hz mono, not {chunk.format}")
            recognition.accept(chunk.pcm, self._clock() - before)
            yield from recognition.advance()
            before = self._clock()
        yield from recognition.finish()

    def close(self) -> None:
        self._loaded = None

    def _describe(self, kind: Kind) -> None:
        abilities = _ABILITIES[kind]
        if self._config.punc_model_dir:
            abilities |= {Ability.PUNCTUATION}
        languages = tuple(sorted(_SPOKEN)) if kind is Kind.SENSE_VOICE else ("zh", "en")
        self.info = replace(self.info, languages=languages, abilities=abilities)

    def _transcriber(self, loaded: _Loaded, request: RecognitionRequest) -> SegmentTranscriber:
        """Return what writes one stream.

        Raises:
            UnsupportedOption: If something is asked for that the model does not do.
        """
        refuse(request.options, engine=NAME)
        language = _language(request.language, self.info.languages)
        if loaded.kind is Kind.SENSE_VOICE:
            return _SenseVoice(loaded.model, language, _figures(request))
        if request.inverse_normalization:
            raise UnsupportedOption(
                f"{NAME}: this model writes numbers as words; options.inverse_normalization needs"
                " SenseVoice"
            )
        hotwords = hotword_line(request.hotwords)
        if hotwords and loaded.kind is not Kind.CONTEXTUAL:
            raise UnsupportedOption(f"{NAME}: hotwords need a contextual Paraformer")
        # Not paid for where it is not wanted.
        marks = None if request.punctuation is False else loaded.punctuation
        if loaded.kind is Kind.STREAMING:
            return StreamingParaformer(loaded.model, marks, self._config)
        options = {"hotword": hotwords} if loaded.kind is Kind.CONTEXTUAL else {}
        return _Paraformer(loaded.model, marks, options)


class _SenseVoice:
    """SenseVoice as what writes the segments of one stream."""

    def __init__(self, model: Model, language: str | None, figures: bool) -> None:
        self._model = model
        self._options = {"language": language or "auto", "use_itn": figures}

    def transcribe(self, audio: Samples, draft: Sequence[int] | None = None) -> Written:
        """Return the text of a stretch of audio, without SenseVoice's tags."""
        del draft
        answer = self._model.ask(padded(audio, _SHORTEST), cache={}, **self._options)
        tagged: str = answer.get("text", "")
        tags = _TAG.findall(tagged)
        text = unspaced(_TAG.sub(" ", tagged))
        if "nospeech" in tags or not any(map(str.isalnum, text)):
            return NOTHING
        language = next((tag for tag in tags if tag in _SPOKEN), None)
        return Written(text, (0,), 0.0, language=language)

    def forget(self) -> None:
        """There is nothing to forget: each call stands alone."""


class _Paraformer:
    """A Paraformer that hears whole segments."""

    def __init__(self, model: Model, punctuation: Model | None, options: Mapping[str, str]) -> None:
        self._model = model
        self._punctuation = punctuation
        self._options = options

    def transcribe(self, audio: Samples, draft: Sequence[int] | None = None) -> Written:
        """Return the text of a stretch of audio; with punctuation where it is final."""
        answer = self._model.ask(padded(audio, _SHORTEST), cache={}, **self._options)
        text = unspaced(answer.get("text", ""))
        if draft is None:
            text = punctuated(text, self._punctuation)
        return Written(text, (0,), 0.0, words=timed(text, answer.get("timestamp")))

    def forget(self) -> None:
        """There is nothing to forget: each call stands alone."""


class StreamingParaformer:
    """The streaming Paraformer: each stride of a segment is heard once, with the segment's cache.

    Its final is what a fresh start with the same samples would give: strides begin where the
    segment does.
    """

    def __init__(self, model: Model, punctuation: Model | None, config: Config) -> None:
        self._model = model
        self._punctuation = punctuation
        self._stride = config.chunk_size[1] * SAMPLES_PER_UNIT
        self._options: dict[str, object] = {
            "chunk_size": list(config.chunk_size),
            "encoder_chunk_look_back": config.encoder_look_back,
            "decoder_chunk_look_back": config.decoder_look_back,
        }
        self.forget()

    def forget(self) -> None:
        """Begin a segment."""
        self._cache: dict[str, Any] = {}
        self._heard = 0
        self._text = ""

    def transcribe(self, audio: Samples, draft: Sequence[int] | None = None) -> Written:
        """Return the text of a segment as far as it was heard, punctuated where it is final."""
        if self._heard > len(audio):  # the segment was cut before what was heard of it
            self.forget()
        while self._heard + self._stride <= len(audio):
            stride = audio[self._heard : self._heard + self._stride]
            self._text = joined(self._text, self._ask(stride, self._cache, last=False))
            self._heard += self._stride
        if draft is not None:
            return Written(unspaced(self._text), (0,), 0.0)
        # The speaker may go on after all: the end is tried on a copy.
        rest = padded(audio[self._heard :], _SHORTEST_REST)
        text = joined(self._text, self._ask(rest, copy.deepcopy(self._cache), last=True))
        return Written(punctuated(unspaced(text), self._punctuation), (0,), 0.0)

    def _ask(self, audio: Samples, cache: dict[str, Any], *, last: bool) -> str:
        answer = self._model.ask(audio, cache=cache, is_final=last, **self._options)
        return str(answer.get("text", ""))


class _Recognition(SegmentRecognition):
    """Shows at once what a streaming model gives, as it takes nothing back."""

    def _guess(self, segment: Segment, decode: Callable[[], Hypothesis]) -> Iterator[Transcript]:
        def agreed() -> Hypothesis:
            hypothesis = decode()
            # Not so the end that is tried in a pause, which may be none.
            if isinstance(self._model, StreamingParaformer) and self._search.decoded != segment:
                self._search.agreement.accept(hypothesis.text)
            return hypothesis

        return super()._guess(segment, agreed)


def padded(audio: Samples, shortest: int) -> Samples:
    """Return audio with silence behind it up to `shortest` samples."""
    return np.pad(audio, (0, max(0, shortest - len(audio))))


def punctuated(text: str, model: Model | None) -> str:
    """Return a text with punctuation, where there is a model for that and a text."""
    if model is None or not text:
        return text
    return unspaced(model.ask(text).get("text", "")) or text


def timed(text: str, times: object) -> tuple[Word, ...]:
    """Return the words of a text with their times.

    Args:
        text: With or without punctuation.
        times: Of FunASR: a pair of milliseconds for each word or character. Where there are not as
            many as words, no word is given a time.
    """
    words = [word.strip() for word in words_of(text)]
    if not isinstance(times, list) or len(times) != len(words):
        return ()
    pairs = zip(words, times, strict=True)
    return tuple(Word(word, start / 1000, end / 1000) for word, (start, end) in pairs)


def _language(tag: str | None, known: Sequence[str]) -> str | None:
    if tag is None:
        return None
    primary = tag.partition("-")[0].lower()
    language = "zh" if primary == "cmn" else primary
    if language not in known:
        raise UnsupportedOption(
            f"{NAME}: this model does not know the language {tag!r}; it knows {', '.join(known)}"
        )
    return language


def _figures(request: RecognitionRequest) -> bool:
    """Return whether SenseVoice is to write figures, which brings punctuation with it."""
    figures = request.inverse_normalization
    if request.punctuation and figures is False:
        raise UnsupportedOption(
            f"{NAME}: SenseVoice writes punctuation and figures together or neither; ask for"
            " options.punctuation or leave options.inverse_normalization out"
        )
    return request.punctuation is not False if figures is None else figures
