"""A stand-in for CosyVoice where the engine looks for it, and models and prompts for it."""

import importlib
import sys
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioFormat, to_float
from legato.engines.cosyvoice.engine import CosyVoice
from legato.speech import SynthesisRequest
from tests.standins.cosyvoice.cli import cosyvoice as standin

STANDINS = Path(standin.__file__).parents[2]
YAML = {1: "cosyvoice.yaml", 2: "cosyvoice2.yaml", 3: "cosyvoice3.yaml"}
TRANSCRIPT = "希望你以后能够做的比我还好呦。"

Samples = NDArray[np.float32]


@contextmanager
def package() -> Iterator[None]:
    """Have `import cosyvoice` find the stand-in."""
    sys.path.insert(0, str(STANDINS))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(STANDINS))
        for name in [name for name in sys.modules if name.split(".")[0] == "cosyvoice"]:
            del sys.modules[name]


def model_dir(folder: Path, number: int) -> str:
    """A folder that looks like a model of a version."""
    path = folder / f"model-{number}"
    path.mkdir(exist_ok=True)
    for name in (YAML[number], "llm.pt", "flow.pt", "hift.pt"):
        (path / name).write_text("", encoding="utf-8")
    return str(path)


def prompt_wav(folder: Path, *, rate_hz: int = 16_000, seconds: float = 3.0) -> str:
    """A recording."""
    path = folder / f"prompt-{rate_hz}-{seconds:g}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(bytes(2 * round(rate_hz * seconds)))
    return str(path)


def options(folder: Path, number: int, **more: object) -> dict[str, object]:
    """Options that serve."""
    prompt = {"name": "anna", "wav": prompt_wav(folder), "text": TRANSCRIPT}
    mode = "sft" if number == 1 else "zero_shot"
    base = {"model_dir": model_dir(folder, number), "mode": mode, "prompts": [prompt]}
    return {**base, **more}


@contextmanager
def loaded(folder: Path, number: int = 2, **more: object) -> Iterator[CosyVoice]:
    """An engine on the stand-in."""
    with package():
        engine = CosyVoice(**options(folder, number, **more))
        engine.load()
        try:
            yield engine
        finally:
            engine.close()


def behind(engine: CosyVoice, number: int = 0) -> standin.CosyVoice:
    """The stand-in that an engine uses."""
    stable = engine._stable  # noqa: SLF001  what it holds is looked at from behind
    assert stable is not None
    found: Any = stable.speakers[number]._cosyvoice  # noqa: SLF001  the same
    return found  # type: ignore[no-any-return]  # it is the stand-in


def request(engine: CosyVoice, **more: Any) -> SynthesisRequest:
    return SynthesisRequest(format=engine.info.format or AudioFormat(24_000), **more)


def spoken(engine: CosyVoice, *text: str, **more: Any) -> Samples:
    """The audio of a text."""
    chunks = engine.synthesize(request(engine, **more), text)
    return to_float(b"".join(chunk.pcm for chunk in chunks))
