"""How loud speech is to the ear, and what makes voices equally loud (ITU-R BS.1770-5)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioFormat, to_float

TARGET_LUFS: Final = -26.0
"""Loudness that voices are brought to, in one channel: that of the default voice. From two
loudspeakers it is the -23 LUFS of EBU R 128."""

MOST_DB: Final = 6.0
"""Most that a voice is raised: its noise is raised with it."""

LEAST_DB: Final = -12.0
"""Most that a voice is lowered."""

_BLOCK: Final = 0.4
_HOP: Final = 0.1
"""Seconds of a gating block, and between two of them."""

_SILENCE_LUFS: Final = -70.0
_BELOW_LU: Final = 10.0
"""Gates: a block counts that is above silence, and not so far below the mean of such blocks."""

_OFFSET_LUFS: Final = -0.691

# The two filters of BS.1770-5 annex 1, whose coefficients are given for 48 kHz alone, as the
# analogue prototypes that these were made of: a high shelf for the head, and a high pass.
_SHELF_HZ: Final = 1681.974450955533
_SHELF_DB: Final = 3.999843853973347
_SHELF_Q: Final = 0.7071752369554196
_SHELF_SLOPE: Final = 0.4996667741545416
_PASS_HZ: Final = 38.13547087602444
_PASS_Q: Final = 0.5003270373238773


def loudness(pcm: bytes, form: AudioFormat) -> float:
    """Return the gated loudness of speech in LUFS; -inf where there is none.

    Args:
        pcm: All of it, s16le; what is shorter than 0.4 s is one block.
        form: Of `pcm`.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    audio = to_float(pcm, form.channels).reshape(-1, form.channels).astype(np.float64)
    powers = _block_powers(_k_weighted(audio, form.sample_rate), form)
    heard = powers[powers > _power(_SILENCE_LUFS)]
    if not len(heard):
        return -math.inf
    speech = heard[heard > heard.mean() * 10 ** (-_BELOW_LU / 10)]
    return _OFFSET_LUFS + 10 * math.log10(float(speech.mean()))


def gain_db(loudness_lufs: float | None) -> float:
    """Return by how many whole dB a voice of this loudness is raised; 0 where it is not known.

    Less than a dB is not heard, and whole ones leave a voice as it is that is near the target.
    """
    if loudness_lufs is None or loudness_lufs == -math.inf:
        return 0.0
    return float(round(min(max(TARGET_LUFS - loudness_lufs, LEAST_DB), MOST_DB)))


def _power(lufs: float) -> float:
    return float(10 ** ((lufs - _OFFSET_LUFS) / 10))


def _block_powers(audio: NDArray[np.float64], form: AudioFormat) -> NDArray[np.float64]:
    """Return the mean square of each block, summed over channels."""
    square = np.square(audio).sum(axis=1)
    size, hop = form.samples(_BLOCK), form.samples(_HOP)
    if len(square) < size:
        return square if not len(square) else np.array([square.mean()])
    total = np.concatenate(([0.0], np.cumsum(square)))
    starts = np.arange(0, len(square) - size + 1, hop)
    powers: NDArray[np.float64] = (total[starts + size] - total[starts]) / size
    return powers


def _k_weighted(audio: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    """Apply both filters; in the frequency domain, behind silence for what they ring on."""
    if not len(audio):
        return audio
    length = len(audio) + rate_hz // 2
    response = _response(np.fft.rfftfreq(length), rate_hz)
    spectrum = np.fft.rfft(audio, length, axis=0) * response[:, None]
    return np.fft.irfft(spectrum, length, axis=0)[: len(audio)]


def _response(frequencies: NDArray[np.floating], rate_hz: int) -> NDArray[np.complex128]:
    """Return the filters' response at frequencies in cycles a sample."""
    back = np.exp(-2j * np.pi * frequencies)
    k = math.tan(math.pi * _SHELF_HZ / rate_hz)
    high = 10 ** (_SHELF_DB / 20)
    middle = high**_SHELF_SLOPE
    shelf = (
        (high + middle * k / _SHELF_Q + k * k)
        + 2 * (k * k - high) * back
        + (high - middle * k / _SHELF_Q + k * k) * back**2
    ) / _poles(k, _SHELF_Q, back)
    k = math.tan(math.pi * _PASS_HZ / rate_hz)
    scale = 1 + k / _PASS_Q + k * k
    response: NDArray[np.complex128] = shelf * scale * (1 - back) ** 2 / _poles(k, _PASS_Q, back)
    return response


def _poles(k: float, quality: float, back: NDArray[np.complex128]) -> NDArray[np.complex128]:
    poles: NDArray[np.complex128] = (
        (1 + k / quality + k * k) + 2 * (k * k - 1) * back + (1 - k / quality + k * k) * back**2
    )
    return poles
