"""Recognition by a model of sherpa-onnx from a directory of the user.

Zipformer (transducer and CTC) and streaming paraformer write while somebody speaks; SenseVoice,
paraformer, Whisper and Moonshine take each utterance whole, and again for partials.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from legato.audio import AudioChunk
from legato.engines import silero
from legato.engines.base import Ability, Checkpoint, EngineInfo, EngineKind
from legato.engines.endpointing import Rules
from legato.engines.installation import version
from legato.engines.live_load import Crowd, processors
from legato.engines.moonshine import FORMAT, rules
from legato.engines.segments import SegmentRecognition
from legato.engines.sherpa import package, tokens
from legato.engines.sherpa.config import RecognizerConfig, configured
from legato.engines.sherpa.directory import RECOGNIZERS, Model, ModelType, find
from legato.engines.sherpa.hearing import LONGEST, StreamingRecognition
from legato.engines.sherpa.languages import SENSE_VOICE, primary, recognized, scripts
from legato.engines.sherpa.writers import StreamingWriter, Variants, WholeTranscriber
from legato.engines.silero import WINDOW, Silero, SpeechProbability
from legato.errors import EngineUnavailable, UnsupportedFormat, UnsupportedOption
from legato.speech import RecognitionRequest, Transcript
from legato.speech.wishes import refuse

NAME: Final = "sherpa-onnx"
LICENCE: Final = "Apache-2.0 AND LicenseRef-model"
"""Of the package, and of a model that nobody told the licence of."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What a copy of a model is bound to.

    Attributes:
        language: What is spoken, "" to find out.
        figures: Whether figures and punctuation are written.
    """

    language: str = ""
    figures: bool = False


class SherpaRecognizer:
    """The recognizer `sherpa-onnx`; several streams share one copy of the weights.

    Args:
        clock: Monotonic seconds; tells whether audio has piled up.
        options: See `RecognizerConfig`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong; names it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, **options: object) -> None:
        self._config = configured(options, RecognizerConfig)
        self._clock = clock
        self._model: Model | None = None
        self._tokens: dict[str, int] = {}
        self._fault: EngineUnavailable | None = None
        try:
            self._model = self._found()
            self._tokens = _tokens_of(self._model)
        except EngineUnavailable as error:
            self._fault = error
        self._unit = self._modeling_unit()
        self.info = self._info()
        self._crowd = Crowd(processors())
        self._loaded: tuple[Variants[Variant], Silero] | None = None

    @property
    def degraded(self) -> bool:
        """Whether more speak at once than can be served as one alone would be."""
        return self._crowd.load.strained(self._clock())

    def check(self) -> None:
        """Look for the packages and the model without loading them.

        Raises:
            EngineUnavailable: If something is missing; says what was looked for.
        """
        package.check()
        silero.check()
        self._found()
        if self._fault is not None:
            raise self._fault

    def load(self) -> None:
        if self._loaded is not None:
            return
        self.check()
        variants, vad = Variants(self._recognizer, self._config.variants), Silero()
        SpeechProbability(vad).accept(np.zeros(WINDOW, np.float32))
        self._loaded = variants, vad
        second = np.zeros(FORMAT.sample_rate, np.float32)
        writer = self._writer(variants, RecognitionRequest(format=FORMAT))
        if isinstance(writer, StreamingWriter):
            writer.begin().finish(second)
        else:
            writer.transcribe(second)

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        if self._loaded is None:
            raise EngineUnavailable("sherpa-onnx is not loaded yet")
        variants, vad = self._loaded
        writer = self._writer(variants, request)
        recognition = self._recognition(writer, SpeechProbability(vad), rules(request.endpointing))
        before = self._clock()
        try:
            for chunk in audio:
                if chunk.format != FORMAT:
                    raise UnsupportedFormat(f"sherpa-onnx takes 16000 Hz mono, not {chunk.format}")
                recognition.accept(chunk.pcm, self._clock() - before)
                yield from recognition.advance()
                before = self._clock()
            yield from recognition.finish()
        finally:
            self._crowd.load.close(recognition)

    def close(self) -> None:
        self._loaded = None

    def _recognition(
        self, writer: StreamingWriter | WholeTranscriber, speech: SpeechProbability, when: Rules
    ) -> StreamingRecognition | SegmentRecognition:
        if isinstance(writer, StreamingWriter):
            return StreamingRecognition(writer, speech, replace(when, longest=LONGEST))
        return SegmentRecognition(writer, speech, when, self._clock, crowd=self._crowd)

    def _found(self) -> Model:
        config = self._config
        return find(
            config.model_dir,
            RECOGNIZERS,
            model_type=config.model_type,
            precision=config.precision,
        )

    def _info(self) -> EngineInfo:
        model, config = self._model, self._config
        languages = config.languages or recognized(model, self._tokens)
        return EngineInfo(
            name=NAME,
            kind=EngineKind.RECOGNIZE,
            version=version(package.DISTRIBUTION) + (f"+{model.folder.name}" if model else ""),
            format=FORMAT,
            scripts=scripts(languages),
            languages=languages,
            slots=config.slots,
            deterministic=config.provider == "cpu",
            licence=config.licence or LICENCE,
            abilities=self._abilities(),
        )

    def _abilities(self) -> frozenset[Ability]:
        if self._model is None:
            return frozenset()
        if self._model.type is ModelType.SENSE_VOICE:
            figures = {Ability.PUNCTUATION, Ability.INVERSE_NORMALIZATION}
            return frozenset({Ability.LANGUAGE_DETECTION, *figures})
        if self._model.type is ModelType.WHISPER:
            detects = {Ability.LANGUAGE_DETECTION} if not recognized(self._model, ()) else set()
            return frozenset({Ability.PUNCTUATION, *detects})
        if self._model.type is ModelType.MOONSHINE:
            return frozenset({Ability.PUNCTUATION})
        return frozenset({Ability.HOTWORDS} if self._searches_wide() and self._unit else ())

    def _modeling_unit(self) -> str:
        """Return the units in which hotwords are written, "" where there can be none."""
        if self._model is None or self._model.type is not ModelType.TRANSDUCER:
            return ""
        vocabulary = (self._model.folder / "bpe.vocab").is_file()
        found = tokens.modeling_unit(self._tokens, vocabulary=vocabulary)
        return self._config.modeling_unit or found

    def _searches_wide(self) -> bool:
        """Tell whether a transducer is searched with several hypotheses."""
        return self._config.decoding_method != "greedy_search"

    def _recognizer(self, variant: Variant) -> object:
        """Load a copy of the model."""
        model, config = self._model, self._config
        if model is None:
            raise self._fault or EngineUnavailable("sherpa-onnx has no model")
        extra: dict[str, object] = {}
        if model.type is ModelType.TRANSDUCER:
            wide = config.decoding_method or (
                "modified_beam_search" if self._unit else "greedy_search"
            )
            extra = {"decoding_method": wide, "hotwords_score": config.hotwords_score}
            if "bpe" in self._unit:
                extra["bpe_vocab"] = str(model.folder / "bpe.vocab")
            if self._unit:
                extra["modeling_unit"] = self._unit
        elif model.type is ModelType.SENSE_VOICE:
            extra = {"language": variant.language, "use_itn": variant.figures}
        elif model.type is ModelType.WHISPER:
            extra = {"language": variant.language}
        return package.recognizer(model, config, extra)

    def _writer(
        self, variants: Variants[Variant], request: RecognitionRequest
    ) -> StreamingWriter | WholeTranscriber:
        """Return what writes for a stream.

        Raises:
            UnsupportedOption: If the model cannot do what is asked for; names it.
        """
        model = self._model
        if model is None:
            raise self._fault or EngineUnavailable("sherpa-onnx has no model")
        self._refuse(request)
        only = self.info.languages[0] if len(self.info.languages) == 1 else None
        if package.streams(model):
            line = tokens.hotwords(request.hotwords, self._tokens, self._unit)
            return StreamingWriter(variants.get(Variant()), model, hotwords=line, language=only)
        variant = Variant(self._language(model, request), self._figures(model, request))
        return WholeTranscriber(variants.get(variant), model, language=variant.language or only)

    def _refuse(self, request: RecognitionRequest) -> None:
        refuse(request.options, engine=NAME)
        if request.hotwords and Ability.HOTWORDS not in self.info.abilities:
            raise UnsupportedOption("sherpa-onnx: this model takes no hotwords; leave them out")

    def _figures(self, model: Model, request: RecognitionRequest) -> bool:
        """Return whether figures and punctuation are written: SenseVoice does both or neither.

        Raises:
            UnsupportedOption: If the model cannot do what is asked for.
        """
        figures, marks = request.inverse_normalization, request.punctuation
        if model.type is ModelType.WHISPER and figures is False:
            raise UnsupportedOption(
                "sherpa-onnx: Whisper writes numbers as it hears them, often as figures; leave"
                " options.inverse_normalization out"
            )
        if model.type is not ModelType.SENSE_VOICE:
            return False
        if marks and figures is False:
            raise UnsupportedOption(
                "sherpa-onnx: SenseVoice writes punctuation only together with figures; ask for"
                " both or for neither"
            )
        if figures is None:
            return self._config.inverse_normalization if marks is None else marks
        return figures

    def _language(self, model: Model, request: RecognitionRequest) -> str:
        """Return the language that a model is told, "" if it is to find out."""
        wanted = primary(request.language or "")
        if model.type is ModelType.SENSE_VOICE:
            if wanted and wanted not in SENSE_VOICE:
                raise UnsupportedOption(
                    f"sherpa-onnx: this model writes {', '.join(SENSE_VOICE)}, not {wanted}"
                )
            return wanted
        return wanted if model.type is ModelType.WHISPER else ""


def _tokens_of(model: Model) -> dict[str, int]:
    """Return the tokens of a model.

    Raises:
        EngineUnavailable: If they cannot be its own; sherpa-onnx would end the process.
    """
    path = model.files["tokens"]
    found = tokens.table(path)
    if model.type is ModelType.CTC and not found.keys() & tokens.BLANKS:
        raise EngineUnavailable(
            f"sherpa-onnx: {path} has no blank, none of {', '.join(sorted(tokens.BLANKS))}; it"
            " belongs to another model"
        )
    return found
