"""Whether a recording will do as a voice's prompt: its length, level, clipping and silence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioFormat, mix_channels
from legato.errors import BadAudio

LEAST_HZ: Final = 16_000
"""What CosyVoice asserts; below, sibilants are missing for good."""

STORED: Final = AudioFormat(24_000)
"""Format that prompts are kept in: the rate at which CosyVoice 2 and 3 look at a voice."""

SHORTEST: Final = 3.0
LONGEST: Final = 30.0
"""Seconds; CosyVoice asserts the latter, and of less than the former voices come out unlike."""

FULL_SCALE: Final = 32_760
"""Samples from here on, of 32,767, are at the end of the scale."""

CLIPPED_MOST: Final = 0.001
"""Share of samples at the end of the scale. Speech whose peak is just there has less than 0.00002,
speech that is 6 dB too loud more than 0.01."""

FRAME: Final = 0.02
"""Seconds of audio whose level is looked at."""

PAUSE_DB: Final = 35.0
"""A frame so far below the loud ones is a pause: breath and room are, quiet consonants are not."""

FLOOR_DBFS: Final = -60.0
"""A frame below is silent whatever the others are."""

SILENT_MOST: Final = 0.6
"""Share of frames that may be pauses: slow speech has a third of them."""

QUIETEST_DBFS: Final = -40.0
"""Level that speech must have; at 16 bits and this level noise of the room is made loud with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What a recording is like.

    Attributes:
        seconds: Its length.
        level_dbfs: RMS level of what is no pause; -inf if all is silent.
        clipped: Share of samples at the end of the scale, 0 to 1.
        silent: Share of frames of 20 ms that are pauses, 0 to 1.
    """

    seconds: float
    level_dbfs: float
    clipped: float
    silent: float


def measure(pcm: bytes, form: AudioFormat) -> Measure:
    """Measure a recording.

    Args:
        pcm: Interleaved s16le, before it is resampled, which hides clipping.
        form: Of `pcm`.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    count = form.samples_in(pcm)
    samples = np.frombuffer(pcm, "<i2")
    at_end = (samples >= FULL_SCALE) | (samples <= -FULL_SCALE)
    levels = _levels(mix_channels(pcm, form.channels, 1), form.samples(FRAME))
    loud = float(np.percentile(levels, 95, method="lower")) if len(levels) else -math.inf
    speech = levels[levels >= max(loud - PAUSE_DB, FLOOR_DBFS)]
    return Measure(
        seconds=form.seconds(count),
        level_dbfs=_mean_dbfs(speech),
        clipped=float(at_end.mean()) if count else 0.0,
        silent=1.0 - len(speech) / len(levels) if len(levels) else 1.0,
    )


def check_rate(rate_hz: int) -> None:
    """See that a recording has a sample rate that will do.

    Raises:
        BadAudio: If it has not; says what to do.
    """
    if rate_hz < LEAST_HZ:
        raise BadAudio(
            f"the recording has {rate_hz} Hz; record at {LEAST_HZ} Hz or more, 24000 or 48000 for"
            " choice: to convert it brings nothing back"
        )


def check(found: Measure) -> None:
    """See that a recording will do.

    Raises:
        BadAudio: If it will not; names the cause and says what to do.
    """
    if found.seconds < SHORTEST:
        raise BadAudio(
            f"the recording is {found.seconds:.1f} s long; it takes {SHORTEST:g} to {LONGEST:g} s"
            " of one speaker: record more"
        )
    if found.seconds > LONGEST:
        raise BadAudio(f"the recording is longer than {LONGEST:g} s; cut it, 10 s are plenty")
    if found.level_dbfs == -math.inf:
        raise BadAudio("the recording is silent; see whether the microphone was on")
    if found.clipped > CLIPPED_MOST:
        raise BadAudio(
            f"the recording is clipped: {found.clipped:.1%} of its samples are at the end of the"
            f" scale, {CLIPPED_MOST:.1%} may be; record it again with less gain"
        )
    if found.silent > SILENT_MOST:
        raise BadAudio(
            f"{found.silent:.0%} of the recording is silence, {SILENT_MOST:.0%} may be; cut it to"
            " what is spoken"
        )
    if found.level_dbfs < QUIETEST_DBFS:
        raise BadAudio(
            f"the recording is too quiet: speech has {found.level_dbfs:.0f} dBFS, it takes"
            f" {QUIETEST_DBFS:g}; record it again, closer or with more gain"
        )


def _levels(pcm: bytes, size: int) -> NDArray[np.float64]:
    """Return the level of each whole frame in dBFS."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64) / 32_768
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    power: NDArray[np.float64] = np.mean(np.square(frames), axis=1)
    with np.errstate(divide="ignore"):
        return 10 * np.log10(power)


def _mean_dbfs(levels: NDArray[np.float64]) -> float:
    if not len(levels):
        return -math.inf
    return float(10 * np.log10(np.mean(10 ** (levels / 10))))
