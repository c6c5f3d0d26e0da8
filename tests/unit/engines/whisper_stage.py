"""The engine `faster-whisper` on a stand-in for the package, and models for it."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType

from legato.engines.whisper import Whisper
from tests.standins import faster_whisper as standin

STANDINS = Path(standin.__file__).parents[1]


@contextmanager
def package() -> Iterator[ModuleType]:
    """Have `import faster_whisper` find the stand-in, and give it."""
    sys.path.insert(0, str(STANDINS))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("faster_whisper")
    finally:
        sys.path.remove(str(STANDINS))
        sys.modules.pop("faster_whisper", None)


def model(folder: Path, **config: object) -> str:
    """A folder that looks like a model."""
    path = folder / "model"
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("model.bin", "tokenizer.json", "vocabulary.txt"):
        (path / name).write_text("", encoding="utf-8")
    return str(path)


@contextmanager
def loaded(folder: Path, **config: object) -> Iterator[Whisper]:
    """An engine on the stand-in, whose model has this `config.json`."""
    with package():
        # A clock on which each look takes 0.1 s: audio comes at the speed of speech.
        ticks = count(step=0.1)
        engine = Whisper(clock=lambda: next(ticks), model=model(folder, **config))
        engine.load()
        yield engine
        engine.close()


def made() -> standin.WhisperModel:
    """The model that was loaded last, while the package is the stand-in."""
    models: list[standin.WhisperModel] = importlib.import_module("faster_whisper").made
    return models[-1]
