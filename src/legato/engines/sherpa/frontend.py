"""How a model takes text: as words of a lexicon, as characters, or as phonemes."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path
from typing import Final

from legato.engines import espeak
from legato.engines.sherpa.config import SynthesizerConfig
from legato.engines.sherpa.directory import Model, ModelType
from legato.errors import EngineUnavailable

_PHONEMIC: Final = ("piper", "coqui", "icefall")
"""What exports of VITS that take phonemes of eSpeak NG say in their comment."""

_BRITISH, _AMERICAN = "lexicon-gb-en.txt", "lexicon-us-en.txt"


class Frontend(Enum):
    """How a model takes text."""

    LEXICON = auto()
    CHARACTERS = auto()
    PHONEMES = auto()


def lexicons(model: Model, config: SynthesizerConfig) -> tuple[Path, ...]:
    """Return the lexicon files of a model.

    Raises:
        EngineUnavailable: If one that the options name is not there.
    """
    if config.lexicon:
        paths = tuple(model.folder / name for name in config.lexicon)
        for path in paths:
            if not path.is_file():
                raise EngineUnavailable(f"sherpa-onnx: there is no lexicon {path}")
        return paths
    found = sorted(model.folder.glob("lexicon*.txt"))
    # Kokoro's have the same words; of two the American one, as in its own examples.
    both = {_BRITISH, _AMERICAN} <= {path.name for path in found}
    return tuple(path for path in found if not (both and path.name == _BRITISH))


def chosen(model: Model, config: SynthesizerConfig) -> Frontend:
    """Return how a model takes text.

    Raises:
        EngineUnavailable: If it takes words, and has no lexicon.
    """
    if model.metadata.get("frontend", "") == "characters":
        return Frontend.CHARACTERS
    if lexicons(model, config):
        return Frontend.LEXICON
    comment = model.metadata.get("comment", "")
    if model.type is not ModelType.VITS or any(name in comment for name in _PHONEMIC):
        return Frontend.PHONEMES
    raise EngineUnavailable(
        f"sherpa-onnx: {model.folder} has no lexicon.txt, which this model needs; download it again"
    )


def missing(frontend: Frontend) -> None:
    """Look for what a way to take text needs.

    Raises:
        EngineUnavailable: If it is missing; says how to have it.
    """
    if frontend is Frontend.PHONEMES:
        try:
            espeak.Espeak().check()
        except EngineUnavailable as error:
            raise EngineUnavailable(
                "sherpa-onnx: this model takes phonemes: put a lexicon.txt beside it, or let eSpeak"
                f" NG (GPL-3.0, your choice) make them: {error.message}"
            ) from error
