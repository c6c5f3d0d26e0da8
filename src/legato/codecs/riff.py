"""WAV, taken apart here rather than in FFmpeg.

FFmpeg's reader waits for 64 KiB of a pipe (two seconds of a microphone), takes memory for texts of
any size that a header claims (2 GB for a file of 32 kB), and hides how long a cut file should be.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from legato.audio import SAMPLE_BYTES, AudioFormat
from legato.codecs.source import Source
from legato.codecs.wav import PCM, UNKNOWN_SIZE
from legato.errors import UnsupportedFormat

MAX_CHUNKS: Final = 256

_UNKNOWN_FROM: Final = 0x7FFF0000
"""Sizes from here on are taken for unknown: arecord, sox and others write just below 2 or 4 GiB."""

_FLOAT: Final = 0x0003
_EXTENSIBLE: Final = 0xFFFE
_FMT_BYTES: Final = 16
_MAX_FMT_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class WavHeader:
    """What a WAV file declares; nothing of it need be true.

    Attributes:
        tag: Format tag, 1 for PCM.
        channels: As declared.
        sample_rate: As declared, in Hz.
        bits: Per sample and channel.
        data_bytes: How many bytes of samples follow, or None where the writer did not know.
    """

    tag: int
    channels: int
    sample_rate: int
    bits: int
    data_bytes: int | None

    @property
    def pcm_format(self) -> AudioFormat | None:
        """The format, if the samples are s16le PCM as Legato itself uses it."""
        if self.tag != PCM or self.bits != 8 * SAMPLE_BYTES:
            return None
        try:
            return AudioFormat(self.sample_rate, self.channels)
        except UnsupportedFormat:
            return None

    @property
    def seconds(self) -> float | None:
        """Declared duration, where the codec has a fixed size per sample and the size is known."""
        bits_per_second = self.sample_rate * self.channels * self.bits
        if self.tag not in (PCM, _FLOAT) or self.data_bytes is None or not bits_per_second:
            return None
        return 8 * self.data_bytes / bits_per_second


def enter(source: Source) -> WavHeader | None:
    """Move the window of a WAV file to its samples, if these are s16le PCM.

    Of other codecs it then shows a WAV file of format and samples only: all other chunks are
    left out.

    Returns:
        None if the source is no WAV file, or one without format or samples.
    """
    head = source.head()
    if head[:4] not in (b"RIFF", b"RF64") or head[8:12] != b"WAVE":
        return None
    source.confine(12)
    fmt = b""
    long_size: int | None = None
    for _ in range(MAX_CHUNKS):
        head = source.head()
        if len(head) < 8:
            return None
        kind, size = struct.unpack_from("<4sI", head)
        if kind == b"data":
            return _enter_data(source, fmt, long_size or _known(size))
        if kind == b"fmt " and size <= _MAX_FMT_BYTES:
            fmt = head[8 : 8 + size]
        if kind == b"ds64" and size >= 16:
            (long_size,) = struct.unpack_from("<Q", head.ljust(24, b"\0"), 16)
        source.confine(8 + size + size % 2)
    return None


def _known(size: int) -> int | None:
    return None if size == 0 or size >= _UNKNOWN_FROM else size


def _enter_data(source: Source, fmt: bytes, size: int | None) -> WavHeader | None:
    if len(fmt) < _FMT_BYTES:
        return None
    tag, channels, sample_rate, _, _, bits = struct.unpack_from("<HHIIHH", fmt)
    if tag == _EXTENSIBLE and len(fmt) >= 26:
        (tag,) = struct.unpack_from("<H", fmt, 24)  # the sub-format begins with the real tag
    header = WavHeader(tag, channels, sample_rate, bits, size)
    prefix = b"" if header.pcm_format else _rewritten(fmt, size)
    source.confine(8, size, prefix=prefix)
    return header


def _rewritten(fmt: bytes, size: int | None) -> bytes:
    data_bytes = UNKNOWN_SIZE if size is None else min(size, UNKNOWN_SIZE)
    padded = fmt + b"\0" * (len(fmt) % 2)
    return (
        struct.pack("<4sI4s4sI", b"RIFF", UNKNOWN_SIZE, b"WAVE", b"fmt ", len(fmt))
        + padded
        + struct.pack("<4sI", b"data", data_bytes)
    )
