"""Bytes from an upstream as chunks of audio."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from legato.audio import SAMPLE_BYTES, AudioChunk, AudioFormat, to_float, to_int16
from legato.engines.cosyvoice.tempo import Tempo
from legato.engines.upstream.faults import Fault, Kind

SLICE: Final = 0.1
"""Seconds of one chunk that is given."""

LONGEST: Final = 20.0
"""Seconds that a text may last whatever its length."""

LONGEST_CHARACTER: Final = 2.0
"""Seconds that each of its characters may add: an ideograph lasts 0.25 s, at half the speed 0.5."""


def whole_samples(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes of s16le in whole samples, wherever a piece ends.

    Raises:
        Fault: If the last sample is not whole: the audio was cut off.
    """
    rest = b""
    for piece in pieces:
        data = rest + piece
        end = len(data) // SAMPLE_BYTES * SAMPLE_BYTES
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        raise Fault(Kind.BROKEN, "the upstream's audio ends in the middle of a sample")


def limited(
    pieces: Iterable[bytes], characters: Callable[[], int], form: AudioFormat
) -> Iterator[bytes]:
    """Yield audio as long as it is not far too long for its text.

    Models that lose their way go on for minutes.

    Args:
        pieces: The audio.
        characters: Tells how many were to be spoken so far.
        form: Of the audio.

    Raises:
        Fault: If it is longer than 20 s and 2 s for each character.
    """
    size_bytes = 0
    for piece in pieces:
        size_bytes += len(piece)
        longest = LONGEST + LONGEST_CHARACTER * characters()
        if size_bytes > form.frame_bytes(longest):
            raise Fault(Kind.BROKEN, f"the upstream goes on after {longest:g} s of audio")
        yield piece


def at_speed(pieces: Iterable[bytes], speed: float, rate_hz: int) -> Iterator[bytes]:
    """Yield s16le mono at another speed, for upstreams that know none."""
    if speed == 1.0:
        yield from pieces
        return
    tempo = Tempo(speed, rate_hz)
    for piece in pieces:
        yield to_int16(tempo.push(to_float(piece))).astype("<i2").tobytes()
    yield to_int16(tempo.flush()).astype("<i2").tobytes()


def from_float(raw: bytes) -> bytes:
    """Return little-endian float32 samples as s16le, clipped.

    Raises:
        Fault: If they are not whole.
    """
    if len(raw) % np.dtype("<f4").itemsize:
        raise Fault(Kind.BROKEN, "the upstream's audio ends in the middle of a sample")
    return to_int16(np.frombuffer(raw, "<f4")).astype("<i2").tobytes()


class Slices:
    """Numbers the samples of a stream, and cuts what comes into chunks of at most 0.1 s.

    Args:
        form: Of all audio.
    """

    def __init__(self, form: AudioFormat) -> None:
        self._format = form
        self._sample = 0

    def cut(self, pcm: bytes) -> Iterator[AudioChunk]:
        """Yield the chunks of a piece of whole samples."""
        size = self._format.frame_bytes(SLICE)
        for start in range(0, len(pcm), size):
            chunk = AudioChunk(pcm[start : start + size], self._format, self._sample)
            self._sample += chunk.samples
            yield chunk
