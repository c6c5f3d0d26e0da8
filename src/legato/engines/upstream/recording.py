"""Recordings as servers want them that take samples instead of files."""

from __future__ import annotations

from functools import lru_cache

import av
import numpy as np

from legato.errors import EngineUnavailable

RATE_HZ = 16_000


@lru_cache(maxsize=64)
def samples(path: str) -> bytes:
    """Return a recording as s16le, 16 kHz, mono.

    Raises:
        EngineUnavailable: If it cannot be read.
    """
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE_HZ)
    try:
        with av.open(path) as file:
            frames = [*file.decode(audio=0), None]
            parts = [part for frame in frames for part in resampler.resample(frame)]
    except (av.FFmpegError, OSError) as error:
        raise EngineUnavailable(f"{path} holds no audio that can be read") from error
    return b"".join(part.to_ndarray().astype("<i2").tobytes() for part in parts)


def floats(path: str) -> bytes:
    """Return a recording as little-endian float32, 16 kHz, mono; as `samples` otherwise."""
    return (np.frombuffer(samples(path), "<i2").astype("<f4") / 32_768).tobytes()
