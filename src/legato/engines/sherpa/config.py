"""What an operator may set of the engines `sherpa-onnx`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec

from legato.errors import EngineUnavailable

Count = Annotated[int, msgspec.Meta(ge=1, le=64)]


class Common(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of both engines.

    Attributes:
        model_dir: Folder of the model.
        model_type: Its kind, such as `sense-voice`; unset, its files tell.
        threads: Threads of one call.
        provider: Where it computes: `cpu`, `cuda` or `coreml`.
        precision: Which files to take where both are there: `int8` or `fp32`.
        languages: BCP 47 tags; unset, those that the model tells or is known for.
        licence: SPDX expression of the model, shown to clients.
    """

    model_dir: str = ""
    model_type: str = ""
    threads: Count = 1
    provider: Literal["cpu", "cuda", "coreml"] = "cpu"
    precision: Literal["int8", "fp32"] = "int8"
    languages: tuple[str, ...] = ()
    licence: str = ""


class RecognizerConfig(Common, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the recognizer.

    Attributes:
        slots: Streams at once.
        decoding_method: Of a transducer. Hotwords need `modified_beam_search`, which is the default
            where the model allows them.
        hotwords_score: How much a hotword is favoured.
        modeling_unit: Of the tokens: `cjkchar`, `bpe` or `cjkchar+bpe`; unset, the files tell.
        inverse_normalization: Whether figures and punctuation are written when nobody asks; for
            SenseVoice.
        variants: Copies of a model that bind a language or ways of writing, at most; further ones
            replace the one that was not asked for longest.
    """

    slots: Count = 8
    decoding_method: Literal["", "greedy_search", "modified_beam_search"] = ""
    hotwords_score: Annotated[float, msgspec.Meta(gt=0, le=20)] = 1.5
    modeling_unit: Literal["", "cjkchar", "bpe", "cjkchar+bpe"] = ""
    inverse_normalization: bool = True
    variants: Annotated[int, msgspec.Meta(ge=1, le=8)] = 2


class SynthesizerConfig(Common, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the synthesizer.

    Attributes:
        slots: Streams at once.
        parallel: Calls of the model at once, over all streams.
        vocoder: File of Matcha's vocoder, where it is not in `model_dir`.
        lexicon: Names of lexicon files in `model_dir`; unset, those that are there.
        voices: Names of the speakers, in the order of their numbers; unset, those of the model.
        voice: Default speaker; unset, the first.
    """

    slots: Count = 8
    parallel: Count = 2
    vocoder: str = ""
    lexicon: tuple[str, ...] = ()
    voices: tuple[str, ...] = ()
    voice: str = ""


C = TypeVar("C", RecognizerConfig, SynthesizerConfig)


def configured(options: Mapping[str, object], kind: type[C]) -> C:
    """Return the options that a settings file gives.

    Raises:
        EngineUnavailable: If one is unknown or wrong; names it.
    """
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise EngineUnavailable(f"sherpa-onnx: {error}; see docs/sherpa.md") from error
