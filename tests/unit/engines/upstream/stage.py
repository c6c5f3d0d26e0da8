"""Prompts, texts and requests for the tests of upstreams."""

import wave
from pathlib import Path

import numpy as np

from legato.audio import AudioFormat
from legato.speech import SynthesisRequest

REQUEST = SynthesisRequest(format=AudioFormat(24_000))


def recording(path: Path, *, seconds: float = 3.0, rate_hz: int = 24_000) -> str:
    """Write a tone and return its path."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes((8_000 * np.sin(2 * np.pi * 220 * at)).astype("<i2").tobytes())
    return str(path)


def prompt(folder: Path, name: str, *, seconds: float = 3.0) -> dict[str, str]:
    """Return a voice from a recording."""
    wav = recording(folder / f"{name}.wav", seconds=seconds)
    return {"name": name, "wav": wav, "text": "I said this."}


def utterances(form: AudioFormat) -> bytes:
    """Return three tones with silence between them: what the stand-ins hear as speech."""
    at = np.arange(form.samples(1.2)) / form.sample_rate
    tone = (8_000 * np.sin(2 * np.pi * 220 * at)).astype("<i2")
    pause = np.zeros(form.samples(1.0), "<i2")
    return np.repeat(np.concatenate([tone, pause] * 3), form.channels).tobytes()
