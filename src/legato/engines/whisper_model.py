"""The package `faster-whisper`: a model found without a hub, and one stretch of audio written.

The package decodes on iteration, goes back to the last word's end and decodes the rest of the
window again (which is where Whisper makes up words), tries other temperatures at random, and looks
for what is missing on a hub. Here a stretch of up to 30 s is one window, decoded once at
temperature 0.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from legato.engines.agreement import spoken_form, words_of
from legato.engines.installation import require
from legato.engines.segments import NOTHING, Written
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Word

NAME: Final = "faster-whisper"
EXTRA: Final = "whisper"
SAMPLE_RATE_HZ: Final = 16_000
ENGLISH: Final = "en"

_NEEDED: Final = ("config.json", "model.bin", "tokenizer.json")
"""Without its tokenizer the package asks a hub for one."""

_TOKENS_PER_SECOND: Final = 16
"""Bound on the text of a second, twice what fast Chinese needs; stops endless repetition."""

_SPARE_TOKENS: Final = 16
_MOST_TOKENS: Final = 220
"""What a prompt of hotwords leaves of Whisper's 448."""

MAX_HOTWORD_TOKENS: Final = 222
"""Whisper's prompt; the package cuts off what is longer without a word."""

_COMPRESSION: Final = 2.4
"""Text that zlib makes smaller than by this factor repeats itself (Radford et al., Whisper)."""

_REPEATS: Final = 5
"""A phrase said so many times in a row is taken for a loop of the network."""

_LONGEST_PHRASE: Final = 8
_FIGURES: Final = frozenset("0123456789%$£€¥")
_BCP47: Final = {"jw": "jv"}

Samples = NDArray[np.float32]


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engine.

    Attributes:
        model: Folder of a model in CTranslate2's form, or a name such as `small` that is in
            Hugging Face's cache already.
        download: Whether a name that is not in the cache is downloaded while the engine loads.
        device: `auto`, `cpu` or `cuda`.
        compute_type: Of CTranslate2: `auto` for the fastest here, `default` for that of the file,
            `int8`, `int8_float16`, `float16`, `float32`.
        threads: Threads for one decode; 0 is one for each core, four at most.
        beam_size: Hypotheses kept while a final is decoded; partials keep one.
        slots: Streams in one process; their decodes wait for each other.
    """

    model: str = ""
    download: bool = False
    device: str = "auto"
    compute_type: str = "auto"
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    beam_size: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    slots: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a stretch is to be written.

    Attributes:
        language: Of Whisper; None to find it out.
        hotwords: As one prompt, or None.
        figures: Whether digits may be written.
        final: With all hypotheses and the times of words; else fast.
    """

    language: str | None = None
    hotwords: str | None = None
    figures: bool = True
    final: bool = True


def check(config: Config) -> None:
    """Look for package and model without loading them.

    Raises:
        EngineUnavailable: If something is missing; names the way to get it.
    """
    require("faster_whisper", extra=EXTRA)
    if not config.model:
        raise EngineUnavailable(
            f"{NAME}: model is not set; name the folder of a model in worker.engines.options, such"
            " as the one that `legato models pull huggingface:Systran/faster-whisper-small` prints"
        )
    if looks_like_folder(config.model):
        _check_folder(Path(config.model))


def looks_like_folder(model: str) -> bool:
    """Whether `model` is a path, and no name such as `small` or `Systran/faster-whisper-small`."""
    return Path(model).is_dir() or model.startswith((".", "/", "~")) or model.count("/") > 1


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise EngineUnavailable(f"{NAME}: there is no folder {folder}")
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    missing += [] if any(folder.glob("vocabulary.*")) else ["vocabulary.json or vocabulary.txt"]
    if missing:
        raise EngineUnavailable(
            f"{NAME}: {folder} lacks {', '.join(missing)}; a model in CTranslate2's form has them,"
            " one of OpenAI or Transformers is no such model (docs/whisper.md)"
        )


class WhisperModel:
    """The weights in memory; any number of threads may decode, one after another.

    Args:
        config: Where they are and how to compute.

    Raises:
        EngineUnavailable: If they cannot be loaded.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        package = importlib.import_module("faster_whisper")
        logging.getLogger("faster_whisper").setLevel(logging.WARNING)  # or a line for each decode
        try:
            self._model: Any = package.WhisperModel(
                config.model,
                device=config.device,
                compute_type=config.compute_type,
                cpu_threads=config.threads or min(os.cpu_count() or 1, 4),
                local_files_only=not config.download,
            )
        except Exception as error:  # whatever loading a model may raise
            way = (
                "" if looks_like_folder(config.model) else "; it is not in the cache, see download"
            )
            raise EngineUnavailable(
                f"{NAME}: {config.model} cannot be loaded: {type(error).__name__}: {error}{way}"
            ) from error
        self._figures: tuple[int, ...] | None = None

    @property
    def is_multilingual(self) -> bool:
        """Whether it knows more than English."""
        return bool(self._model.model.is_multilingual)

    @property
    def is_on_processor(self) -> bool:
        """Whether no graphics card computes, whose sums may differ from run to run."""
        return bool(self._model.model.device == "cpu")

    @property
    def languages(self) -> tuple[str, ...]:
        """BCP 47 tags."""
        return tuple(sorted(_BCP47.get(code, code) for code in self._model.supported_languages))

    def prompt(self, hotwords: Sequence[str]) -> str | None:
        """Return hotwords as Whisper takes them.

        Raises:
            UnsupportedOption: If they are more than its prompt holds.
        """
        if not hotwords:
            return None
        prompt = ", ".join(word.strip() for word in hotwords)
        size = len(self._model.hf_tokenizer.encode(f" {prompt}", add_special_tokens=False).ids)
        if size > MAX_HOTWORD_TOKENS:
            raise UnsupportedOption(
                f"hotwords: these are {size} of Whisper's tokens, more than the"
                f" {MAX_HOTWORD_TOKENS} that it takes; send fewer"
            )
        return prompt

    def write(self, audio: Samples, manner: Manner) -> Written:
        """Return the text of a stretch of audio.

        Args:
            audio: Mono samples at 16 kHz, 30 s at most.
            manner: How it is to be written.
        """
        written, loops = self._decode(audio, manner)
        if loops:
            written, loops = self._decode(
                audio, manner, no_repeat_ngram_size=3, repetition_penalty=1.2
            )
        return NOTHING if loops else written

    def _decode(self, audio: Samples, manner: Manner, **more: object) -> tuple[Written, bool]:
        """Return what is written, and whether the network has got into a loop."""
        most = math.ceil(len(audio) / SAMPLE_RATE_HZ * _TOKENS_PER_SECOND) + _SPARE_TOKENS
        segments, info = self._model.transcribe(
            audio,
            language=manner.language,
            beam_size=self._config.beam_size if manner.final else 1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
            word_timestamps=manner.final,
            suppress_tokens=[-1, *(() if manner.figures else self._figure_tokens())],
            max_new_tokens=min(most, _MOST_TOKENS),
            hotwords=manner.hotwords,
            **more,
        )
        # The first is the whole window; a second would be the rest of it, decoded again.
        segment = next(iter(segments), None)
        if segment is None:
            return NOTHING, False
        loops = segment.compression_ratio > _COMPRESSION or repeats(segment.text)
        written = Written(
            text=segment.text.strip(),
            tokens=tuple(segment.tokens),
            confidence=min(1.0, math.exp(segment.avg_logprob)),
            words=tuple(_word(word) for word in segment.words or ()),
            language=_BCP47.get(info.language, info.language),
        )
        return written, loops

    def _figure_tokens(self) -> tuple[int, ...]:
        if self._figures is None:
            vocabulary = self._model.hf_tokenizer.get_vocab()
            self._figures = tuple(
                sorted(
                    number
                    for token, number in vocabulary.items()
                    if not token.startswith("<|") and _FIGURES.intersection(token)
                )
            )
        return self._figures


def repeats(text: str) -> bool:
    """Whether some phrase of up to 8 words is said five times or more in a row."""
    words = [word for word in map(spoken_form, words_of(text)) if word]
    for size in range(1, min(_LONGEST_PHRASE, len(words) // _REPEATS) + 1):
        run = 0
        for word, before in zip(words[size:], words, strict=False):
            run = run + 1 if word == before else 0
            if run >= size * (_REPEATS - 1):
                return True
    return False


def whisper_language(tag: str | None) -> str | None:
    """Return Whisper's code of a BCP 47 tag: `zh-TW` and `cmn` are `zh`, `jv` is `jw`."""
    if tag is None:
        return None
    primary = tag.partition("-")[0].lower()
    return {"cmn": "zh", "jv": "jw", "nb": "no", "fil": "tl"}.get(primary, primary)


def _word(word: Any) -> Word:
    return Word(word.word.strip(), float(word.start), float(word.end), float(word.probability))
