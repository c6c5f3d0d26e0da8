"""PCM and its units: formats, chunks, samples and seconds, float and int16."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.errors import BadAudio, UnsupportedFormat

SAMPLE_BYTES: Final = 2
"""Bytes of one s16le sample of one channel."""

MIN_SAMPLE_RATE_HZ: Final = 8_000
MAX_SAMPLE_RATE_HZ: Final = 48_000
MAX_CHANNELS: Final = 2


class Codec(StrEnum):
    """How the payload of an audio frame is coded."""

    PCM_S16LE = "pcm_s16le"
    MULAW = "mulaw"
    ALAW = "alaw"
    OPUS = "opus"


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Sample rate and channel count of interleaved little-endian int16 PCM.

    Attributes:
        sample_rate: Hz, 8,000 to 48,000.
        channels: 1 or 2.

    Raises:
        UnsupportedFormat: If a value is outside its range.
    """

    sample_rate: int
    channels: int = 1

    def __post_init__(self) -> None:
        if not MIN_SAMPLE_RATE_HZ <= self.sample_rate <= MAX_SAMPLE_RATE_HZ:
            raise UnsupportedFormat(
                f"sample_rate {self.sample_rate} is outside"
                f" {MIN_SAMPLE_RATE_HZ} to {MAX_SAMPLE_RATE_HZ} Hz"
            )
        if not 1 <= self.channels <= MAX_CHANNELS:
            raise UnsupportedFormat(f"channels must be 1 or 2, not {self.channels}")

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample over all channels."""
        return SAMPLE_BYTES * self.channels

    @property
    def packet_samples(self) -> int:
        """Samples of one packet; 0, as PCM has none."""
        return 0

    def samples(self, seconds: float) -> int:
        """Return the nearest whole number of samples in `seconds`."""
        return round(seconds * self.sample_rate)

    def seconds(self, samples: int) -> float:
        """Return the duration of `samples` in seconds."""
        return samples / self.sample_rate

    def samples_in(self, pcm: bytes | bytearray | memoryview) -> int:
        """Count the samples (per channel) in `pcm`.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
        """
        count, rest = divmod(len(pcm), self.sample_bytes)
        if rest:
            raise BadAudio(
                f"{len(pcm)} bytes are not whole samples of {self.sample_bytes} bytes"
                f" (pcm_s16le, {self.channels} channel{'s' * (self.channels > 1)})"
            )
        return count

    def frame_bytes(self, frame: float) -> int:
        """Return the bytes of a frame of `frame` seconds (R4: 20 ms at 16 kHz mono is 640)."""
        return self.samples(frame) * self.sample_bytes


@dataclass(frozen=True, slots=True)
class PayloadFormat(AudioFormat):
    """What the payloads of a stream's audio frames hold; positions count samples all the same.

    Attributes:
        codec: How they are coded.
        frame_ms: Milliseconds of a full frame; of Opus, of every packet.
    """

    codec: Codec = Codec.PCM_S16LE
    frame_ms: int = 20

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample over all channels; 0 where a payload is a packet."""
        if self.codec is Codec.OPUS:
            return 0
        return self.channels * (SAMPLE_BYTES if self.codec is Codec.PCM_S16LE else 1)

    @property
    def packet_samples(self) -> int:
        """Samples of one packet; 0 where payloads are no packets."""
        return self.frame_samples if self.codec is Codec.OPUS else 0

    @property
    def frame_samples(self) -> int:
        """Samples of a full frame."""
        return self.samples(self.frame_ms / 1000)

    @property
    def pcm(self) -> AudioFormat:
        """Format of the samples once they are decoded."""
        return AudioFormat(self.sample_rate, self.channels)

    def samples_in(self, payload: bytes | bytearray | memoryview) -> int:
        """Count the samples (per channel) that a payload stands for.

        Of Opus this is a whole frame, also where an utterance ends within it (rule 14).

        Raises:
            BadAudio: If `payload` ends in the middle of a sample.
        """
        if self.codec is Codec.OPUS:
            return self.packet_samples if payload else 0
        count, rest = divmod(len(payload), self.sample_bytes)
        if rest:
            raise BadAudio(
                f"{len(payload)} bytes are not whole samples of {self.sample_bytes} bytes"
                f" ({self.codec.value}, {self.channels} channel{'s' * (self.channels > 1)})"
            )
        return count


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A stretch of PCM and where in its stream it lies.

    Attributes:
        pcm: Interleaved s16le samples.
        format: Rate and channels of `pcm`.
        sample: Position of the first sample, counted per channel from the stream's start.
        utterance: Number of the utterance it belongs to.
    """

    pcm: bytes
    format: AudioFormat
    sample: int = 0
    utterance: int = 0

    @property
    def samples(self) -> int:
        """Samples per channel."""
        return len(self.pcm) // self.format.sample_bytes

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return self.format.sample_rate

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.format.seconds(self.samples)


def to_int16(audio: NDArray[np.floating] | NDArray[np.int16]) -> NDArray[np.int16]:
    """Convert float samples in [-1, 1) to int16, so that `to_float` and back changes nothing.

    Args:
        audio: Any shape; values outside are clipped, not wrapped, and NaN becomes silence. int16
            input is returned as it is.
    """
    if audio.dtype == np.int16:
        return audio.astype(np.int16, copy=False)
    bounded = np.clip(np.nan_to_num(audio, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    scaled = np.rint(bounded.astype(np.float64) * 32768.0)
    return np.minimum(scaled, 32767.0).astype(np.int16)


def to_float(pcm: bytes | bytearray | memoryview, channels: int = 1) -> NDArray[np.float32]:
    """Convert s16le bytes to float32 in [-1, 1).

    Returns:
        Shape [samples] for one channel, [samples, channels] for more.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    if len(pcm) % (SAMPLE_BYTES * channels):
        raise BadAudio(f"{len(pcm)} bytes are not whole samples of {channels} channel(s)")
    audio = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768.0
    return audio if channels == 1 else audio.reshape(-1, channels)


def mix_channels(pcm: bytes, source: int, target: int) -> bytes:
    """Convert between mono and stereo: average down, duplicate up.

    Args:
        pcm: Interleaved s16le with `source` channels.
        source: Channels of `pcm`, 1 or 2.
        target: Channels wanted, 1 or 2.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    if len(pcm) % (SAMPLE_BYTES * source):
        raise BadAudio(f"{len(pcm)} bytes are not whole samples of {source} channel(s)")
    if source == target:
        return pcm
    samples = np.frombuffer(pcm, dtype="<i2")
    if target == 1:
        mean: NDArray[np.float64] = samples.reshape(-1, source).mean(axis=1, dtype=np.float64)
        return np.rint(mean).astype("<i2").tobytes()
    return np.repeat(samples, target).tobytes()


def level_dbfs(pcm: bytes) -> float:
    """Return the RMS level in dB relative to full scale; silence is -inf."""
    if not pcm:
        return -math.inf
    rms = float(np.sqrt(np.mean(np.square(np.frombuffer(pcm, dtype="<i2").astype(np.float64)))))
    return 20 * math.log10(rms / 32768.0) if rms else -math.inf
