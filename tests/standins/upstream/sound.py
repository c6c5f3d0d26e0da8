"""A tone for each character: what the stand-ins say."""

import numpy as np

CHARACTER = 0.02
"""Seconds of a character at speed 1."""


def spoken(text: str, rate_hz: int, speed: float = 1.0) -> np.ndarray:
    """Return float32 samples; the pitch of each character is its code's."""
    samples = round(CHARACTER / speed * rate_hz)
    at = np.arange(samples) / rate_hz
    tones = [0.3 * np.sin(2 * np.pi * (200 + ord(char) % 48 * 20) * at) for char in text]
    return np.concatenate([np.zeros(0), *tones]).astype(np.float32)


def as_pcm(audio: np.ndarray) -> bytes:
    """Return s16le as CosyVoice makes it: by a factor, without clipping, so that 1.0 wraps."""
    wrapped = np.round(audio.astype(np.float64) * 32768).astype(np.int64) & 0xFFFF
    return wrapped.astype("<u2").tobytes()
