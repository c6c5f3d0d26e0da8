"""Speech by a model of sherpa-onnx from a directory of the user: VITS, Matcha and Kokoro.

sherpa-onnx gives audio sentence by sentence. What it would pass over in silence, words that are not
in the lexicon, speakers that do not exist, texts without a sound, is spelt or refused here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines import espeak
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.installation import version
from legato.engines.markup import letters_of, spoken, unread
from legato.engines.precedence import Precedence
from legato.engines.sherpa import package, tokens
from legato.engines.sherpa.config import SynthesizerConfig, configured
from legato.engines.sherpa.directory import SYNTHESIZERS, Model, ModelType, find
from legato.engines.sherpa.frontend import Frontend, chosen, lexicons, missing
from legato.engines.sherpa.languages import scripts
from legato.engines.sherpa.languages import spoken as languages_of
from legato.engines.sherpa.lexicon import Lexicon, words_of
from legato.engines.sherpa.phonemes import phonemes
from legato.engines.sherpa.rendering import Audio, Rendering, Take
from legato.engines.sherpa.sentences import sentences
from legato.engines.sherpa.speakers import voices
from legato.errors import EngineFailed, EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest
from legato.speech.scripts import is_speakable, unspeakable

NAME: Final = "sherpa-onnx"
LICENCE: Final = "Apache-2.0 AND LicenseRef-model"
"""Of the package, and of a model that nobody told the licence of."""

_WARM_UP: Final = {"zh": "你好。", "ja": "こんにちは。", "ko": "안녕하세요."}
"""What is said while the engine loads, by language; else "Hello."."""

_HETERONYMS: Final = "heteronym"
"""Rules that choose among readings, which come after those that write figures as words."""

Spell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What `load` made.

    Attributes:
        tts: The model.
        spell: Turns a sentence into what the model is given.
        phonemic: Whether that are phonemes.
        slice: Samples of a chunk.
    """

    tts: Any
    spell: Spell
    phonemic: bool
    slice: int


class SherpaSynthesizer:
    """The synthesizer `sherpa-onnx`; several streams share one copy of the weights.

    Args:
        options: See `SynthesizerConfig`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong; names it.
    """

    def __init__(self, **options: object) -> None:
        self._config = configured(options, SynthesizerConfig)
        self._model: Model | None = None
        self._fault: EngineUnavailable | None = None
        try:
            self._model = self._found()
        except EngineUnavailable as error:
            self._fault = error
        self._speakers: dict[str, int] = {}
        self.info = self._info()
        self._turns = Precedence(self._config.parallel)
        self._loaded: _Loaded | None = None

    def check(self) -> None:
        """Look for the package and the model without loading them.

        Raises:
            EngineUnavailable: If something is missing; says what was looked for.
        """
        package.check()
        model = self._found()
        if self._model is None:
            raise EngineUnavailable("sherpa-onnx: the model came after the engine; restart it")
        tokens.table(model.files["tokens"])
        missing(chosen(model, self._config))

    def load(self) -> None:
        if self._loaded is not None:
            return
        self.check()
        model, config = self._known(), self._config
        frontend = chosen(model, config)
        paths = lexicons(model, config) if frontend is Frontend.LEXICON else ()
        rules = _rules(model)
        tts = package.voice(model, config, ",".join(map(str, paths)), rules)
        pcm = AudioFormat(int(tts.sample_rate))
        numbers = any(word in " ".join(rules.values()) for word in ("number", "rule.far"))
        language = (self.info.languages or ("en",))[0].partition("-")[0]
        spell = _speller(frontend, paths, model, digits=numbers, language=language)
        loaded = _Loaded(tts, spell, frontend is Frontend.PHONEMES, pcm.samples(0.1))
        with suppress(UnsupportedText):  # a lexicon need not have these words
            _say(loaded, spell(_WARM_UP.get(language, "Hello.")), 0, 1.0, lambda _audio: True)
        self._loaded = loaded

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        if self._loaded is None or self.info.format is None:
            raise EngineUnavailable("sherpa-onnx is not loaded yet")
        loaded, pcm, sample = self._loaded, self.info.format, 0
        speaker = self._speaker(request)
        due = time.monotonic() + request.spare
        for piece in text:
            rendering = Rendering(
                self._readable(loaded, piece),
                lambda spelt, take: _say(loaded, spelt, speaker, request.speed, take),
                self._turns,
                due=due + pcm.seconds(sample),
                rate_hz=pcm.sample_rate,
            )
            try:
                for audio in chain.from_iterable(
                    np.split(whole, range(loaded.slice, len(whole), loaded.slice))
                    for whole in rendering
                ):
                    samples = to_int16(audio).astype("<i2").tobytes()
                    yield AudioChunk(samples, pcm, sample)
                    sample += len(audio)
            finally:
                rendering.close()

    def close(self) -> None:
        self._loaded = None

    def _known(self) -> Model:
        if self._model is None:
            raise self._fault or EngineUnavailable("sherpa-onnx has no model")
        return self._model

    def _found(self) -> Model:
        config = self._config
        model = find(
            config.model_dir,
            SYNTHESIZERS,
            model_type=config.model_type,
            precision=config.precision,
            elsewhere={"vocoder": Path(config.vocoder)} if config.vocoder else None,
        )
        _whole(model)
        return model

    def _info(self) -> EngineInfo:
        model, config = self._model, self._config
        told = model.metadata if model else {}
        languages = config.languages or languages_of(told)
        named = voices(model, config, languages, NAME)
        self._speakers = {voice.name: number for number, voice in enumerate(named)}
        if model and config.voice and config.voice not in self._speakers:
            raise EngineUnavailable(f"sherpa-onnx: voice {config.voice!r} is none of the model's")
        rate = int(told.get("sample_rate", "0"))
        return EngineInfo(
            name=NAME,
            kind=EngineKind.SYNTHESIZE,
            version=version(package.DISTRIBUTION) + (f"+{model.folder.name}" if model else ""),
            format=AudioFormat(rate) if rate else None,
            scripts=scripts(languages),
            languages=languages,
            voices=tuple(sorted(named, key=lambda voice: voice.name != config.voice)),
            slots=config.slots,
            deterministic=False,  # the models draw random numbers that nobody can seed
            licence=config.licence or LICENCE,
            written_out=frozenset({"en", "zh"}),
        )

    def _speaker(self, request: SynthesisRequest) -> int:
        """Return the number of a voice; sherpa-onnx would take the first for one that is unknown.

        Raises:
            UnknownVoice: If there is none of this name.
        """
        wanted = request.voice or self.info.voices[0].name
        if wanted not in self._speakers:
            shown = ", ".join(list(self._speakers)[:20])
            raise UnknownVoice(f"sherpa-onnx has no voice {wanted!r} here, only {shown}")
        return self._speakers[wanted]

    def _readable(self, loaded: _Loaded, piece: str) -> list[str]:
        """Return what the model is given for a piece, sentence by sentence.

        Raises:
            UnsupportedText: If something of it cannot be said; before any of it is heard.
        """
        if foreign := unspeakable(piece, self.info.scripts) or unread(piece):
            raise UnsupportedText(f"sherpa-onnx cannot speak {foreign!r}", characters=foreign)
        found = []
        for sentence in sentences(spoken(piece)):
            if not is_speakable(sentence):
                continue
            try:
                spelt = loaded.spell(sentence)
            except UnsupportedText as error:
                # What it names may be in words that stand for a number of the text.
                named = "".join(char for char in error.characters if char in piece)
                characters = named or letters_of(sentence)
                raise UnsupportedText(error.message, characters=characters) from error
            if not is_speakable(spelt):
                raise UnsupportedText(
                    f"sherpa-onnx has no sound for {sentence[:40]!r}",
                    characters=letters_of(sentence),
                )
            found.append(spelt)
        return found


def _whole(model: Model) -> None:
    """Check that the speakers of Kokoro are all there; sherpa-onnx would end the process.

    Raises:
        EngineUnavailable: If their file has another size than the model says.
    """
    if model.type is not ModelType.KOKORO:
        return
    path = model.files["voices"]
    shape = [int(size) for size in model.metadata["style_dim"].split(",")]
    expected = 4 * int(model.metadata["n_speakers"]) * math.prod(shape)
    if path.stat().st_size != expected:
        raise EngineUnavailable(
            f"sherpa-onnx: {path} has {path.stat().st_size} bytes instead of {expected}; download"
            " it again, from where the model is from"
        )


def _rules(model: Model) -> dict[str, str]:
    """Return the rules beside a model that rewrite a text, as sherpa-onnx wants them."""
    files = sorted(model.folder.glob("*.fst"), key=lambda path: _HETERONYMS in path.name)
    archives = sorted(model.folder.glob("*.far"))
    found = {"rule_fsts": files, "rule_fars": archives}
    return {name: ",".join(map(str, paths)) for name, paths in found.items() if paths}


def _speller(
    frontend: Frontend, paths: Sequence[Path], model: Model, *, digits: bool, language: str
) -> Spell:
    """Return what turns a sentence into what the model is given.

    Args:
        frontend: How the model takes text.
        paths: Of its lexicons.
        model: It.
        digits: Whether its rules write numbers as words.
        language: In which they are read where the text leaves that open.
    """
    table = tokens.table(model.files["tokens"])
    if frontend is Frontend.PHONEMES:
        library = espeak.library()
        name = model.metadata.get("voice", "") or "en-us"
        return lambda text: phonemes(text, lambda part: library.phonemes(part, voice=name), table)
    letters = frontend is Frontend.CHARACTERS
    words = table if letters else words_of(paths)
    return Lexicon(words, letters=letters, digits=digits, language=language).respelt


def _say(loaded: _Loaded, spelt: str, speaker: int, speed: float, take: Take) -> None:
    """Say a sentence.

    Raises:
        EngineFailed: If sherpa-onnx fails, or makes no sound of it.
    """
    how = package.package().GenerationConfig()
    how.sid, how.speed = speaker, speed
    if loaded.phonemic:
        how.phoneme_codepoints = [[ord(char) for char in spelt]]
    samples = 0

    def taken(audio: Audio, _progress: float) -> int:
        nonlocal samples
        samples += len(audio)
        return int(take(audio))

    try:
        loaded.tts.generate("" if loaded.phonemic else spelt, how, taken)
    except (RuntimeError, ValueError, LookupError) as error:
        raise EngineFailed(f"sherpa-onnx failed: {error}") from error
    if not samples:
        raise EngineFailed(f"sherpa-onnx made no sound of {spelt[:40]!r}")
