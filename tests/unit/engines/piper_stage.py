"""The engine `piper` on a stand-in for the package, and voices for it."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from legato.engines.piper import Piper
from tests.standins import piper as standin
from tests.standins.onnx_file import piper_voice

STANDINS = Path(standin.__file__).parents[1]


@contextmanager
def package() -> Iterator[None]:
    """Have `import piper` find the stand-in."""
    sys.path.insert(0, str(STANDINS))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(STANDINS))
        sys.modules.pop("piper", None)


def voice(
    folder: Path,
    name: str = "en_US-lark-medium",
    *,
    code: str | None = "en_US",
    rate_hz: int = 22_050,
    **settings: Any,
) -> str:
    """The two files of a voice; returns the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = piper_voice(folder / f"{name}.onnx")
    said = {
        "audio": {"sample_rate": rate_hz, "quality": "medium"},
        "espeak": {"voice": "en-us"},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "num_symbols": len(standin.SYMBOLS),
        "num_speakers": 1,
        "phoneme_id_map": standin.ID_MAP,
        **({"language": {"code": code, "name_english": "English"}} if code else {}),
        **settings,
    }
    Path(f"{path}.json").write_text(json.dumps(said), encoding="utf-8")
    return str(path)


@contextmanager
def loaded(**options: object) -> Iterator[Piper]:
    """The engine, loaded."""
    with package():
        engine = Piper(**options)
        engine.load()
        yield engine
        engine.close()
