"""Recordings whose voice speaks, looked at before CosyVoice asserts something about them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import av

from legato.engines.cosyvoice.config import Prompt
from legato.errors import EngineUnavailable

LEAST_HZ: Final = 16_000
"""CosyVoice asserts it."""

LONGEST: Final = 30.0
"""Seconds that the speech tokenizer takes; CosyVoice asserts it."""

SHORTEST: Final = 1.0
"""Seconds: of less no voice can be made."""


def check(prompt: Prompt) -> None:
    """Look whether CosyVoice can take a recording.

    Raises:
        EngineUnavailable: If it cannot; says what to do about it.
    """
    path = Path(prompt.wav)
    if not path.is_file():
        raise EngineUnavailable(f"cosyvoice: prompt {prompt.name}: there is no file {prompt.wav}")
    rate_hz, seconds = _measured(prompt)
    if rate_hz < LEAST_HZ:
        raise EngineUnavailable(
            f"cosyvoice: prompt {prompt.name} has {rate_hz} Hz; take a recording of at least"
            f" {LEAST_HZ} Hz"
        )
    if not SHORTEST <= seconds <= LONGEST:
        raise EngineUnavailable(
            f"cosyvoice: prompt {prompt.name} is {seconds:.1f} s long; cut it to between"
            f" {SHORTEST:g} and {LONGEST:g} s"
        )


def _measured(prompt: Prompt) -> tuple[int, float]:
    """Return sample rate and seconds."""
    try:
        with av.open(prompt.wav) as file:
            stream = file.streams.audio[0]
            rate_hz = stream.codec_context.sample_rate
            samples = 0
            for frame in file.decode(stream):
                samples += frame.samples
                if samples > (LONGEST + 1) * rate_hz:
                    break
    except (av.FFmpegError, IndexError) as error:
        raise EngineUnavailable(
            f"cosyvoice: prompt {prompt.name}: {prompt.wav} holds no audio that can be read"
        ) from error
    return rate_hz, samples / rate_hz
