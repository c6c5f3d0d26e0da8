"""Recordings as servers want them that take samples instead of files."""

from __future__ import annotations

import io
import wave
from functools import lru_cache
from threading import Lock
from typing import Final

import av
import numpy as np

from legato.audio import SAMPLE_BYTES
from legato.engines.cosyvoice.config import Prompt
from legato.errors import EngineUnavailable
from legato.speech.voices import VoicePrompt

RATE_HZ = 16_000

KEPT: Final = 16
"""Recordings of clients that are kept as servers want them: 15 MB at most."""

_kept: Final[dict[str, bytes]] = {}
_lock: Final = Lock()


@lru_cache(maxsize=64)
def samples(path: str) -> bytes:
    """Return a recording as s16le, 16 kHz, mono.

    Raises:
        EngineUnavailable: If it cannot be read.
    """
    try:
        with av.open(path) as file:
            return _converted(file)
    except (av.FFmpegError, OSError) as error:
        raise EngineUnavailable(f"{path} holds no audio that can be read") from error


def samples_of(prompt: Prompt | None, own: VoicePrompt | None) -> bytes:
    """Return the samples of an operator's recording or of a client's; as `samples` otherwise."""
    if own is not None:
        return _samples_of_own(own)
    return b"" if prompt is None else samples(prompt.wav)


def floats(path: str) -> bytes:
    """Return a recording as little-endian float32, 16 kHz, mono; as `samples` otherwise."""
    return as_floats(samples(path))


def as_floats(pcm: bytes) -> bytes:
    """Return s16le samples as little-endian float32."""
    return (np.frombuffer(pcm, "<i2").astype("<f4") / 32_768).tobytes()


def wav(own: VoicePrompt) -> bytes:
    """Return a client's recording as a file, as it was brought."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(own.format.channels)
        file.setsampwidth(SAMPLE_BYTES)
        file.setframerate(own.format.sample_rate)
        file.writeframes(own.pcm)
    return buffer.getvalue()


def forget(digest: str) -> None:
    """Drop what is kept of a client's recording."""
    with _lock:
        _kept.pop(digest, None)


def _samples_of_own(own: VoicePrompt) -> bytes:
    with _lock:
        known = _kept.pop(own.digest, None)
    if known is None:
        with av.open(io.BytesIO(wav(own)), "r") as file:
            known = _converted(file)
    with _lock:
        _kept[own.digest] = known
        while len(_kept) > KEPT:
            del _kept[next(iter(_kept))]
    return known


def _converted(file: av.container.InputContainer) -> bytes:
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE_HZ)
    frames = [*file.decode(audio=0), None]
    parts = [part for frame in frames for part in resampler.resample(frame)]
    return b"".join(part.to_ndarray().astype("<i2").tobytes() for part in parts)
