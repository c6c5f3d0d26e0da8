"""The package `funasr`: models in folders, loaded without a hub, and asked one call at a time.

`AutoModel` keeps the options of a call for the next one, may mix up two streams' caches, downloads
what it does not find, installs what a model's requirements.txt names, and goes on with random
weights where the file is missing. What a stream needs is therefore said in each call, one call runs
at a time, and a folder that would be completed from elsewhere is refused.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from legato.engines.installation import require
from legato.errors import EngineFailed, EngineUnavailable, UnsupportedOption

NAME: Final = "funasr"
SAMPLES_PER_UNIT: Final = 960
"""Of the streaming model's `chunk_size`: 60 ms at 16 kHz."""

_MODEL_LINE: Final = re.compile(r"^model:\s*[\"']?(\w+)", re.MULTILINE)
_POINTER: Final = b"version https://git-lfs"
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_GAP: Final = re.compile(rf"(?<=[{_UNSPACED}])\s+(?=[{_UNSPACED}])")

Count = Annotated[int, msgspec.Meta(ge=0, le=256)]


class Kind(Enum):
    """How a model is asked."""

    STREAMING = auto()
    """Audio in strides with a cache; gives what is new."""
    SENSE_VOICE = auto()
    """Whole segments; finds the language, writes punctuation and figures."""
    CONTEXTUAL = auto()
    """Whole segments, with hotwords."""
    WHOLE = auto()
    """Whole segments."""


_KINDS: Final = {
    "ParaformerStreaming": Kind.STREAMING,
    "SenseVoiceSmall": Kind.SENSE_VOICE,
    "ContextualParaformer": Kind.CONTEXTUAL,
    "SeacoParaformer": Kind.CONTEXTUAL,
    "Paraformer": Kind.WHOLE,
    "BiCifParaformer": Kind.WHOLE,
}
"""What `config.yaml` calls the models that this engine knows."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engine.

    Attributes:
        model_dir: Folder of a model: `paraformer-zh-streaming`, `SenseVoiceSmall`, or a Paraformer.
        punc_model_dir: Folder of a punctuation model such as `ct-punc`, for a Paraformer.
        device: `cpu` or `cuda:0`.
        threads: Threads for one decode; 0 is one for each core, four at most.
        chunk_size: Of the streaming model, in units of 60 ms: look-back, chunk, look-ahead.
        encoder_look_back: Chunks that its encoder looks back.
        decoder_look_back: Chunks that its decoder looks back.
        slots: Streams in one process; their decodes wait for each other.
    """

    model_dir: str = ""
    punc_model_dir: str = ""
    device: str = "cpu"
    threads: Count = 0
    chunk_size: tuple[Count, Annotated[int, msgspec.Meta(ge=5, le=20)], Count] = (0, 10, 5)
    encoder_look_back: Count = 4
    decoder_look_back: Count = 1
    slots: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8


def check(config: Config) -> Kind:
    """Return what the model is, without loading it.

    Raises:
        EngineUnavailable: If package or model are missing; names the way to get them.
    """
    require("funasr", extra="funasr")
    if not config.model_dir:
        raise EngineUnavailable(
            f"{NAME}: model_dir is not set; name the folder of a model in worker.engines.options,"
            " such as the one that `legato models pull modelscope:iic/SenseVoiceSmall` prints"
        )
    if config.punc_model_dir:
        _check_folder(Path(config.punc_model_dir))
    return kind_of(config.model_dir)


def kind_of(folder: str) -> Kind:
    """Return what the model in a folder is.

    Raises:
        EngineUnavailable: If it is none that this engine knows, or not whole.
    """
    name = _check_folder(Path(folder))
    if name not in _KINDS:
        raise EngineUnavailable(
            f"{NAME}: {folder} holds a {name or 'model without a name'}; this engine knows"
            f" {', '.join(_KINDS)}"
        )
    return _KINDS[name]


def _check_folder(folder: Path) -> str:
    """Return how a model's configuration calls it; refuse what would not be loaded as it is."""
    if not folder.is_dir():
        raise EngineUnavailable(
            f"{NAME}: there is no folder {folder}; funasr would look for it on a hub"
        )
    configuration, weights = folder / "config.yaml", folder / "model.pt"
    missing = [file.name for file in (configuration, weights) if not file.is_file()]
    if missing:
        raise EngineUnavailable(
            f"{NAME}: {folder} lacks {', '.join(missing)}; funasr would go on with random weights"
        )
    with weights.open("rb") as file:
        if file.read(len(_POINTER)) == _POINTER:
            raise EngineUnavailable(
                f"{NAME}: {weights} is a Git LFS pointer; fetch the file with `git lfs pull`"
            )
    if (folder / "requirements.txt").exists():
        raise EngineUnavailable(
            f"{NAME}: funasr would install what {folder / 'requirements.txt'} names; install it"
            " yourself and remove the file"
        )
    found = _MODEL_LINE.search(configuration.read_text(encoding="utf-8"))
    return found[1] if found else ""


class Model:
    """A model in memory; any number of threads may ask, and one is answered at a time.

    Args:
        folder: Of the model.
        config: How to compute.

    Raises:
        EngineUnavailable: If it cannot be loaded.
    """

    def __init__(self, folder: str, config: Config) -> None:
        self._lock = threading.Lock()
        try:
            package = importlib.import_module("funasr")
            with _quiet():
                self._model: Any = package.AutoModel(
                    # Absolute: short names are names of the hub even where a folder has one.
                    model=str(Path(folder).resolve()),
                    device=config.device,
                    ncpu=config.threads or min(os.cpu_count() or 1, 4),
                    disable_update=True,
                    disable_pbar=True,
                    disable_log=True,
                )
        except Exception as error:  # whatever loading a model may raise
            raise EngineUnavailable(
                f"{NAME}: {folder} cannot be loaded: {type(error).__name__}: {error}"
            ) from error

    def ask(self, content: object, **options: object) -> Mapping[str, Any]:
        """Return what the model makes of audio or text; an empty mapping if of nothing.

        Args:
            content: Mono samples at 16 kHz, or a text.
            options: All that the model may be told: one that is left out would be the last call's.

        Raises:
            EngineFailed: If the package answers with something else than a text.
        """
        with self._lock:
            # Some versions merge the caches of two calls, and one stream hears the other's end.
            self._model.kwargs.pop("cache", None)
            answer = self._model.generate(input=content, **options)
        if not answer:
            return {}
        first = answer[0]
        if not isinstance(first, Mapping) or not isinstance(first.get("text"), str):
            raise EngineFailed(f"{NAME} answered with no text. {EngineFailed.advice}")
        return first


def hotword_line(hotwords: Sequence[str]) -> str:
    """Return hotwords as funasr takes them: in one line, parted by spaces.

    Raises:
        UnsupportedOption: If one has a space, or would be taken for a file or an address.
    """
    for word in hotwords:
        if len(word.split()) != 1:
            raise UnsupportedOption(f"hotword {word!r}: {NAME} takes single words without spaces")
        if word.endswith(".txt") or word.startswith("http"):
            raise UnsupportedOption(f"hotword {word!r}: {NAME} would read that as a list elsewhere")
    return " ".join(hotwords)


def joined(text: str, more: str) -> str:
    """Put what is new in a stream behind what was there, with a space between Latin words."""
    if text.endswith("@@"):  # a piece of a word
        return text.removesuffix("@@") + more.lstrip()
    latin = text[-1:].isascii() and more[:1].isascii() and text[-1:].isalnum()
    return f"{text} {more}" if latin and more[:1].isalnum() else text + more


def unspaced(text: str) -> str:
    """Return text without the spaces that Paraformer puts between Chinese characters."""
    return _GAP.sub("", " ".join(text.split()))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the package from writing to standard output and from setting up logging for all."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
