"""Which kind of model a directory holds, told by its files and by what they say of themselves.

sherpa-onnx ends the whole process when a model lacks something: all of it is looked for here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from legato.engines.sherpa.metadata import NotOnnx, metadata
from legato.errors import EngineUnavailable


class ModelType(StrEnum):
    """What the option `model_type` may be."""

    TRANSDUCER = "transducer"
    CTC = "zipformer2-ctc"
    STREAMING_PARAFORMER = "streaming-paraformer"
    SENSE_VOICE = "sense-voice"
    PARAFORMER = "paraformer"
    WHISPER = "whisper"
    MOONSHINE = "moonshine"
    VITS = "vits"
    MATCHA = "matcha"
    KOKORO = "kokoro"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of model and how it is known.

    Attributes:
        type: Its name.
        files: Patterns by role, several of them separated by "|"; each must match.
        told_by: The role of the file whose metadata tell the kind.
        signs: For some keys of these metadata, what one of them must contain, in lower case.
        needed: Keys that these metadata must have.
    """

    type: ModelType
    files: Mapping[str, str]
    told_by: str
    signs: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()


_ZIPFORMER: Final = ("encoder_dims", "num_encoder_layers", "left_context_len", "decode_chunk_len")

RECOGNIZERS: Final = (
    Kind(
        type=ModelType.TRANSDUCER,
        files={
            "encoder": "encoder*.onnx",
            "decoder": "decoder*.onnx",
            "joiner": "joiner*.onnx",
            "tokens": "tokens.txt",
        },
        told_by="encoder",
        needed=("model_type",),
    ),
    Kind(
        type=ModelType.STREAMING_PARAFORMER,
        files={"encoder": "encoder*.onnx", "decoder": "decoder*.onnx", "tokens": "tokens.txt"},
        told_by="encoder",
        needed=("neg_mean", "inv_stddev", "lfr_window_size", "lfr_window_shift"),
    ),
    Kind(
        type=ModelType.WHISPER,
        files={
            "encoder": "*-encoder*.onnx",
            "decoder": "*-decoder*.onnx",
            "tokens": "*-tokens.txt|tokens.txt",
        },
        told_by="encoder",
        signs={"model_type": "whisper"},
    ),
    Kind(
        type=ModelType.MOONSHINE,
        files={
            "preprocessor": "preprocess*.onnx",
            "encoder": "encode.onnx|encode.*.onnx",
            "uncached_decoder": "uncached_decode*.onnx",
            "cached_decoder": "cached_decode*.onnx",
            "tokens": "tokens.txt",
        },
        told_by="preprocessor",
    ),
    Kind(
        type=ModelType.CTC,
        files={"model": "ctc-*.onnx|model*.onnx", "tokens": "tokens.txt"},
        told_by="model",
        signs={"model_type": "zipformer2"},
        needed=_ZIPFORMER,
    ),
    Kind(
        type=ModelType.SENSE_VOICE,
        files={"model": "model*.onnx", "tokens": "tokens.txt"},
        told_by="model",
        signs={"model_type": "sense_voice"},
        needed=("vocab_size", "lfr_window_size", "with_itn", "without_itn", "lang_auto"),
    ),
    Kind(
        type=ModelType.PARAFORMER,
        files={"model": "model*.onnx", "tokens": "tokens.txt"},
        told_by="model",
        signs={"model_type": "paraformer"},
        needed=("vocab_size", "lfr_window_size", "neg_mean", "inv_stddev"),
    ),
)
"""Kinds that recognize; the first that fits is taken."""

SYNTHESIZERS: Final = (
    Kind(
        type=ModelType.KOKORO,
        files={"model": "model*.onnx|kokoro*.onnx", "voices": "voices.bin", "tokens": "tokens.txt"},
        told_by="model",
        signs={"model_type": "kokoro"},
        needed=("sample_rate", "n_speakers", "style_dim", "has_espeak"),
    ),
    Kind(
        type=ModelType.MATCHA,
        files={
            "acoustic_model": "model-steps-*.onnx|model.onnx",
            "vocoder": "vocos*.onnx|hifigan*.onnx",
            "tokens": "tokens.txt",
        },
        told_by="acoustic_model",
        signs={"model_type": "matcha"},
        needed=("sample_rate", "n_speakers"),
    ),
    Kind(
        type=ModelType.VITS,
        files={"model": "*.onnx", "tokens": "tokens.txt"},
        told_by="model",
        signs={"model_type": "vits", "comment": "piper"},
        needed=("sample_rate", "n_speakers", "language", "comment"),
    ),
)
"""Kinds that speak; the first that fits is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as it lies in a directory.

    Attributes:
        type: Its kind.
        folder: The directory.
        files: Paths by role.
        metadata: Of the file that tells the kind.
    """

    type: ModelType
    folder: Path
    files: Mapping[str, Path]
    metadata: Mapping[str, str]


def find(
    model_dir: str,
    kinds: Sequence[Kind],
    *,
    model_type: str = "",
    precision: str = "int8",
    elsewhere: Mapping[str, Path] | None = None,
) -> Model:
    """Return the model in a directory.

    Args:
        model_dir: The directory.
        kinds: Which kinds to look for.
        model_type: The one kind that it is; empty to find out.
        precision: Of files that differ in it alone: "int8", or "fp32" for those that are not int8.
        elsewhere: Files that lie outside the directory, by role.

    Raises:
        EngineUnavailable: If there is none; names what was looked for.
    """
    if not model_dir:
        raise EngineUnavailable(
            "sherpa-onnx: model_dir is not set; name the folder of a model in the engine's options,"
            " see docs/sherpa.md"
        )
    folder = Path(model_dir)
    if not folder.is_dir():
        raise EngineUnavailable(
            f"sherpa-onnx: model_dir {model_dir} is not a folder; download the model first, nothing"
            " is downloaded here, see docs/sherpa.md"
        )
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    wanted = [kind for kind in kinds if model_type in ("", kind.type)]
    reasons = []
    for kind in wanted:
        there = {role: path for role, path in (elsewhere or {}).items() if role in kind.files}
        files = {**_match(kind, folder, names, precision), **there}
        missing = [kind.files[role] for role in kind.files if not _is_there(files, role)]
        if missing:
            reasons.append(f"{kind.type} has {', '.join(missing)}")
            continue
        told, reason = _told(kind, files)
        if not reason:
            return Model(type=kind.type, folder=folder, files=files, metadata=told)
        reasons.append(f"{kind.type}: {reason}")
    raise EngineUnavailable(_nothing(model_dir, model_type, kinds, reasons))


def _nothing(model_dir: str, model_type: str, kinds: Sequence[Kind], reasons: list[str]) -> str:
    if not reasons:
        known = ", ".join(kind.type for kind in kinds)
        return f"sherpa-onnx: model_type {model_type} is none of {known}"
    return (
        f"sherpa-onnx: {model_dir} holds no model that is known here; looked for:"
        f" {'; '.join(reasons)}. See docs/sherpa.md"
    )


def _is_there(files: Mapping[str, Path], role: str) -> bool:
    return role in files and files[role].is_file()


def _match(kind: Kind, folder: Path, names: Sequence[str], precision: str) -> dict[str, Path]:
    found = {}
    for role, patterns in kind.files.items():
        fitting = [
            name
            for pattern in patterns.split("|")
            for name in names
            if fnmatchcase(name, pattern) and not (role == "model" and _is_vocoder(name))
        ]
        right = [name for name in fitting if (".int8." in name) == (precision == "int8")]
        for name in [*right, *fitting][:1]:
            found[role] = folder / name
    return found


def _is_vocoder(name: str) -> bool:
    return name.startswith(("vocos", "hifigan"))


def _told(kind: Kind, files: Mapping[str, Path]) -> tuple[dict[str, str], str]:
    """Return the metadata that tell the kind, and why they speak against it."""
    for role, path in files.items():
        if path.suffix == ".onnx" and role != kind.told_by:
            try:
                metadata(path)
            except NotOnnx as error:
                return {}, str(error)
    try:
        told = metadata(files[kind.told_by])
    except NotOnnx as error:
        return {}, str(error)
    signs = [sign in told.get(key, "").lower() for key, sign in kind.signs.items()]
    name = files[kind.told_by].name
    if signs and not any(signs):
        said = told.get("model_type", "") or "nothing"
        return told, f"{name} says of its model_type {said!r}"
    lacking = [key for key in kind.needed if key not in told]
    if lacking:
        return told, f"{name} lacks the metadata {', '.join(lacking)}; is it an export for sherpa?"
    if kind.type is ModelType.TRANSDUCER and "non-streaming" in told.get("comment", ""):
        return told, f"{name} does not stream; take a streaming transducer"
    return told, ""
