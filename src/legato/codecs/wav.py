"""WAV, the container every tool takes, written to files and pipes."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, Final

from legato.audio import SAMPLE_BYTES, AudioFormat, Codec
from legato.codecs.writer import Writer

HEADER_BYTES: Final = 44
UNKNOWN_SIZE: Final = 0xFFFFFFFF
"""What FFmpeg writes where it cannot know the size, such as on a pipe; readers go on to the end."""

PCM: Final = 0x0001
"""Format tag of integer PCM."""

ALAW: Final = 0x0006
MULAW: Final = 0x0007
"""Format tags of G.711 (RFC 2361, section 2)."""

_TAGS: Final = {Codec.ALAW: ALAW, Codec.MULAW: MULAW}
_G711_HEADER_BYTES: Final = 58


def header(
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    data_bytes: int | None,
    codec: Codec = Codec.PCM_S16LE,
) -> bytes:
    """Return the bytes before the samples: 44, or 58 for G.711.

    Args:
        format: Of the samples.
        data_bytes: Size of the samples; None, or more than the format can say, for unknown.
        codec: Of the samples: PCM, mu-law or A-law.
    """
    if codec in _TAGS:
        return _g711_header(format, data_bytes, _TAGS[codec])
    if data_bytes is None or data_bytes + HEADER_BYTES - 8 > UNKNOWN_SIZE:
        riff_bytes = data_bytes = UNKNOWN_SIZE
    else:
        riff_bytes = data_bytes + HEADER_BYTES - 8
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", riff_bytes, b"WAVE"),
        *(b"fmt ", 16, PCM, format.channels, format.sample_rate),
        *(format.sample_rate * format.sample_bytes, format.sample_bytes, 8 * SAMPLE_BYTES),
        *(b"data", data_bytes),
    )


def _g711_header(format: AudioFormat, data_bytes: int | None, tag: int) -> bytes:  # noqa: A002  (the field's name everywhere)
    """Return a header with the `fact` chunk that other codecs than PCM need."""
    samples = data_bytes
    padded = 0 if data_bytes is None else data_bytes + data_bytes % 2
    if data_bytes is None or padded + _G711_HEADER_BYTES - 8 > UNKNOWN_SIZE:
        riff_bytes = data_bytes = samples = UNKNOWN_SIZE
    else:
        riff_bytes = padded + _G711_HEADER_BYTES - 8
        samples = data_bytes // format.channels
    return struct.pack(
        "<4sI4s4sIHHIIHHH4sII4sI",
        *(b"RIFF", riff_bytes, b"WAVE"),
        *(b"fmt ", 18, tag, format.channels, format.sample_rate),
        *(format.sample_rate * format.channels, format.channels, 8, 0),
        *(b"fact", 4, samples),
        *(b"data", data_bytes),
    )


def wav_bytes(
    pcm: bytes,
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
) -> bytes:
    """Return `pcm` as a whole WAV file.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    format.samples_in(pcm)
    return header(format, len(pcm)) + pcm


class WavWriter(Writer):
    """Streams PCM into a WAV file or pipe; see `Writer`.

    A stream that can seek gets its sizes at the end, a pipe says "unknown" in its header, which
    players take to the end.

    Args:
        target: Path, or a binary stream.
        format: Of the PCM.
        codec: Of the file: PCM, mu-law or A-law.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        codec: Codec = Codec.PCM_S16LE,
    ) -> None:
        self._codec = codec
        super().__init__(target, format)

    def _begin(self) -> None:
        self._destination.write(header(self.format, None, self._codec))

    def _put(self, pcm: bytes) -> None:
        if self._codec is not Codec.PCM_S16LE:
            from legato.codecs.g711 import law  # loads NumPy

            pcm = law(self._codec).encode(pcm)
        self._destination.write(pcm)

    def _end(self) -> None:
        size = self.samples * self.format.sample_bytes
        if self._codec is not Codec.PCM_S16LE:
            size //= SAMPLE_BYTES
            if self._destination.start is not None:  # else it would be taken for a sample
                self._destination.write(bytes(size % 2))
        self._destination.rewrite(header(self.format, size, self._codec))
