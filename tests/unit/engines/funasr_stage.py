"""The engine `funasr` on a stand-in for the package, and models for it."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType

from legato.engines.funasr import FunASR
from tests.standins import funasr as standin

STANDINS = Path(standin.__file__).parents[1]


@contextmanager
def package() -> Iterator[ModuleType]:
    """Have `import funasr` find the stand-in, and give it."""
    sys.path.insert(0, str(STANDINS))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("funasr")
    finally:
        sys.path.remove(str(STANDINS))
        sys.modules.pop("funasr", None)


def model(folder: Path, kind: str, more: str = "") -> str:
    """A folder that looks like a model of a kind."""
    path = folder / f"model-{kind}"
    path.mkdir(exist_ok=True)
    (path / "config.yaml").write_text(f"# of a model\nmodel: {kind}\n{more}\n", encoding="utf-8")
    (path / "model.pt").write_bytes(b"weights")
    return str(path)


@contextmanager
def loaded(folder: Path, kind: str, **options: object) -> Iterator[FunASR]:
    """An engine on the stand-in."""
    # A clock on which each look takes 0.1 s: audio comes at the speed of speech.
    ticks = count(step=0.1)
    with package():
        engine = FunASR(clock=lambda: next(ticks), model_dir=model(folder, kind), **options)
        engine.load()
        yield engine
        engine.close()


def made() -> standin.AutoModel:
    """The model that was loaded last, while the package is the stand-in."""
    models: list[standin.AutoModel] = importlib.import_module("funasr").made
    return models[-1]
