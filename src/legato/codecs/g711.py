"""Mu-law and A-law, one byte a sample (ITU-T G.711), by table.

The tables follow the reference of ITU-T G.191 (Software Tools Library, `g711.c`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import SAMPLE_BYTES, Codec
from legato.errors import BadAudio

_MULAW_BIAS: Final = 33
"""Added to the magnitude of 14 bits, so that every segment begins at a power of two."""

_MULAW_MAX: Final = 0x1FFF
_ALAW_INVERSION: Final = 0x55


@dataclass(frozen=True, slots=True)
class Law:
    """One of the two laws.

    Attributes:
        codec: Which.
        codes: Code of every s16 value, indexed by its bits, shape [65536].
        values: s16 value of every code, shape [256].
    """

    codec: Codec
    codes: NDArray[np.uint8]
    values: NDArray[np.int16]

    def encode(self, pcm: bytes | bytearray | memoryview) -> bytes:
        """Return one byte for each s16le sample.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
        """
        if len(pcm) % SAMPLE_BYTES:
            raise BadAudio(f"{len(pcm)} bytes are not whole samples of {SAMPLE_BYTES} bytes")
        codes: NDArray[np.uint8] = self.codes[np.frombuffer(pcm, "<u2")]
        return codes.tobytes()

    def decode(self, payload: bytes | bytearray | memoryview) -> bytes:
        """Return one s16le sample for each byte."""
        return self.values[np.frombuffer(payload, np.uint8)].tobytes()


def law(codec: Codec) -> Law:
    """Return the law of a codec.

    Raises:
        KeyError: If it is neither mu-law nor A-law.
    """
    return _LAWS[codec]


def _mulaw_codes() -> NDArray[np.uint8]:
    x = _all_values()
    magnitude = np.where(x < 0, ~x >> 2, x >> 2) + _MULAW_BIAS
    magnitude = np.minimum(magnitude, _MULAW_MAX)
    segment = _log2(magnitude) - 5
    mantissa = (magnitude >> (segment + 1)) & 0xF
    code = ~(segment << 4 | mantissa) & 0x7F
    return _codes(np.where(x < 0, code, code | 0x80))


def _mulaw_values() -> NDArray[np.int16]:
    code = np.arange(256)
    segment, mantissa = (~code >> 4) & 7, ~code & 0xF
    step = 8 << segment
    magnitude = (0x80 << segment) + step * mantissa + step // 2 - 4 * _MULAW_BIAS
    return _values(magnitude, code)


def _alaw_codes() -> NDArray[np.uint8]:
    x = _all_values()
    magnitude = np.where(x < 0, ~x >> 4, x >> 4)
    segment = np.maximum(_log2(np.maximum(magnitude, 1)) - 3, 0)
    mantissa = (magnitude >> np.maximum(segment - 1, 0)) & 0xF
    code = segment << 4 | mantissa
    return _codes(np.where(x < 0, code, code | 0x80) ^ _ALAW_INVERSION)


def _alaw_values() -> NDArray[np.int16]:
    code = np.arange(256) ^ _ALAW_INVERSION
    segment, mantissa = (code >> 4) & 7, code & 0xF
    magnitude = (np.where(segment > 0, mantissa + 16, mantissa) << 4) + 8
    magnitude = magnitude << np.maximum(segment - 1, 0)
    return _values(magnitude, code)


def _codes(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    return numbers.astype(np.uint8)


def _values(magnitude: NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return signed values: codes below 0x80 are negative."""
    return np.where(code < 0x80, -magnitude, magnitude).astype("<i2")


def _all_values() -> NDArray[np.int64]:
    """Return the value of every pattern of 16 bits."""
    return np.arange(65_536).astype(np.uint16).view(np.int16).astype(np.int64)


def _log2(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of the highest bit that is set; every number is above 0."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1


_LAWS: Final = {
    Codec.MULAW: Law(Codec.MULAW, _mulaw_codes(), _mulaw_values()),
    Codec.ALAW: Law(Codec.ALAW, _alaw_codes(), _alaw_values()),
}
