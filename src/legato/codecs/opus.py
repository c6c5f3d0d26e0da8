"""Opus packets without a container (RFC 6716), by FFmpeg's binding of libopus.

A packet stands for exactly the samples of its frame: what the encoder runs behind by is given to it
ahead, and the packet that only holds this delay is left out. A decoder drops nothing, and position
0 is its first sample. (Measured with speech: the first 40 ms after a start lose 0.4 dB by it, what
follows nothing.)
"""

from __future__ import annotations

from typing import Final

import av
from av.audio.codeccontext import AudioCodecContext

from legato.audio import SAMPLE_BYTES, AudioFormat, PayloadFormat
from legato.codecs.resample import LAYOUTS, Resampler
from legato.errors import BadAudio

DECODED_HZ: Final = 48_000
"""FFmpeg's decoder knows no other rate."""

COMPLEXITY: Final = 5
"""Of 10: what WebRTC takes where there is little CPU. Less saves a third at most."""

_PRE_SKIP: Final = slice(10, 12)
"""Where `OpusHead` has the encoder's delay in samples at 48 kHz (RFC 7845, section 5.1)."""


class OpusEncoder:
    """Codes PCM into packets of one length. Not for use by two threads at once.

    Args:
        format: Of the stream; one of the rates that Opus has.
        bitrate: Bits a second to aim at.
    """

    def __init__(self, format: PayloadFormat, bitrate: int) -> None:  # noqa: A002  (the field's name everywhere)
        self._format = format
        self._sample_bytes = SAMPLE_BYTES * format.channels
        self._frame_bytes = format.packet_samples * self._sample_bytes
        self._context = _encoder(format, bitrate)
        head = self._context.extradata or b""
        delay = int.from_bytes(head[_PRE_SKIP], "little") * format.sample_rate // DECODED_HZ
        ahead = -delay % format.packet_samples
        self._unsent = (ahead + delay) // format.packet_samples
        self._rest = bytearray(ahead * self._sample_bytes)
        self._taken = self._given = 0

    def push(self, pcm: bytes | bytearray | memoryview) -> list[bytes]:
        """Return the packets that are complete; up to a frame and 6.5 ms are held back.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
        """
        self._taken += self._format.pcm.samples_in(pcm)
        return self._push(pcm)

    def finish(self) -> list[bytes]:
        """Return what is left, the last packet filled with silence; nothing may be pushed after."""
        missing = -(-self._taken // self._format.packet_samples) - self._given
        packets: list[bytes] = []
        while len(packets) < missing:
            packets += self._push(bytes(self._frame_bytes))
        return packets[:missing]

    def _push(self, pcm: bytes | bytearray | memoryview) -> list[bytes]:
        rest, size = self._rest, self._frame_bytes
        rest += pcm
        whole = len(rest) - len(rest) % size
        packets = [packet for at in range(0, whole, size) for packet in self._code(at)]
        del rest[:whole]
        kept = packets[self._unsent :]
        self._unsent -= len(packets) - len(kept)
        self._given += len(kept)
        return kept

    def _code(self, at: int) -> list[bytes]:
        form = self._format
        frame = av.AudioFrame("s16", LAYOUTS[form.channels], form.packet_samples)
        frame.sample_rate = form.sample_rate
        frame.planes[0].update(bytes(self._rest[at : at + self._frame_bytes]))
        frame.pts = None
        return [bytes(packet) for packet in self._context.encode(frame)]


class OpusDecoder:
    """Decodes the packets of one stream into PCM. Not for use by two threads at once.

    Args:
        format: Of the stream.
    """

    def __init__(self, format: PayloadFormat) -> None:  # noqa: A002  (the field's name everywhere)
        self._format = format
        self._context = _decoder(format.channels)
        decoded = AudioFormat(DECODED_HZ, format.channels)
        self._resampler = None
        if format.sample_rate != DECODED_HZ:
            self._resampler = Resampler(decoded, format.pcm)
        self._decoded_samples = format.packet_samples * DECODED_HZ // format.sample_rate
        self._sample_bytes = decoded.sample_bytes

    def decode(self, packet: bytes) -> bytes:
        """Return the samples that are complete; below 48 kHz up to 2.1 ms are held back.

        Raises:
            BadAudio: If it is no packet of the declared length.
        """
        try:
            frames = self._context.decode(av.Packet(packet))
        except av.FFmpegError as error:
            raise BadAudio(f"an Opus packet of {len(packet)} bytes cannot be decoded") from error
        pcm = b"".join(
            bytes(frame.planes[0])[: frame.samples * self._sample_bytes] for frame in frames
        )
        if len(pcm) != self._decoded_samples * self._sample_bytes:
            raise BadAudio(f"an Opus packet does not hold {self._format.frame_ms} ms")
        return pcm if self._resampler is None else self._resampler.push(pcm)

    def flush(self) -> bytes:
        """Return what was held back."""
        return b"" if self._resampler is None else self._resampler.flush()


class SteadyOpusDecoder:
    """Decodes a packet into exactly its samples, for who counts them; 2.1 ms late at the most.

    Args:
        format: Of the stream.
    """

    def __init__(self, format: PayloadFormat) -> None:  # noqa: A002  (the field's name everywhere)
        self._decoder = OpusDecoder(format)
        self._frame_bytes = format.packet_samples * format.pcm.sample_bytes
        self._rest = b""
        self._begun = False

    def decode(self, packet: bytes) -> bytes:
        """Return the samples of a frame; none for an empty payload.

        Raises:
            BadAudio: If it is no packet of the declared length.
        """
        if not packet:
            return b""
        pcm = self._rest + self._decoder.decode(packet)
        if not self._begun:
            self._begun = True
            pcm = pcm.rjust(self._frame_bytes, b"\0")
        self._rest = pcm[self._frame_bytes :]
        return pcm[: self._frame_bytes]


def _encoder(format: PayloadFormat, bitrate: int) -> AudioCodecContext:  # noqa: A002  (the field's name everywhere)
    context = av.CodecContext.create("libopus", "w")
    assert isinstance(context, AudioCodecContext)  # noqa: S101  (narrows the type)
    context.sample_rate = format.sample_rate
    context.layout = LAYOUTS[format.channels]
    context.format = "s16"
    context.bit_rate = bitrate
    context.options = {
        "application": "voip",
        "frame_duration": str(format.frame_ms),
        "compression_level": str(COMPLEXITY),
    }
    context.open()
    return context


def _decoder(channels: int) -> AudioCodecContext:
    context = av.CodecContext.create("libopus", "r")
    assert isinstance(context, AudioCodecContext)  # noqa: S101  (narrows the type)
    context.sample_rate = DECODED_HZ
    context.layout = LAYOUTS[channels]
    context.open()
    return context
