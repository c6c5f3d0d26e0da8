"""What goes up: PCM in frames, coded as the stream declares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from legato.audio import Codec, PayloadFormat
from legato.client.framing import Framer

if TYPE_CHECKING:
    from legato.codecs.opus import OpusEncoder

PIECE_SECONDS: Final = 1.0
"""Audio that is coded at once: 10 ms of work."""


class FrameCoder:
    """Cuts a flow of PCM into frames, and codes them.

    Args:
        payload: What the stream's frames hold.
    """

    def __init__(self, payload: PayloadFormat) -> None:
        self._framer = Framer(payload.frame_samples * payload.pcm.sample_bytes)
        self._code = _by_sample(payload.codec)

    async def push(self, pcm: bytes) -> AsyncIterator[bytes]:
        """Yield the payloads that `pcm` completes."""
        for frame in self._framer.push(pcm):
            yield self._code(frame)

    async def finish(self) -> list[bytes]:
        """Return what is left, less than a frame."""
        rest = self._framer.flush()
        return [self._code(rest)] if rest else []


class PacketCoder:
    """Codes a flow of PCM into Opus packets, in a thread.

    Args:
        payload: What the stream's frames hold.
        bitrate: Bits a second to aim at.
    """

    def __init__(self, payload: PayloadFormat, bitrate: int) -> None:
        self._payload = payload
        self._bitrate = bitrate
        self._piece_bytes = payload.pcm.frame_bytes(PIECE_SECONDS)
        self._encoder: OpusEncoder | None = None

    async def push(self, pcm: bytes) -> AsyncIterator[bytes]:
        """Yield the packets that `pcm` completes."""
        for start in range(0, len(pcm), self._piece_bytes):
            piece = pcm[start : start + self._piece_bytes]
            for packet in await asyncio.to_thread(self._push, piece):
                yield packet

    async def finish(self) -> list[bytes]:
        """Return the last packets, filled up with silence."""
        return [] if self._encoder is None else await asyncio.to_thread(self._encoder.finish)

    def _push(self, pcm: bytes) -> list[bytes]:
        if self._encoder is None:
            from legato.codecs.opus import OpusEncoder  # loads FFmpeg

            self._encoder = OpusEncoder(self._payload, self._bitrate)
        return self._encoder.push(pcm)


def coder_for(payload: PayloadFormat, bitrate: int) -> FrameCoder | PacketCoder:
    """Return what codes one stream.

    Args:
        payload: What the stream's frames hold.
        bitrate: Bits a second of Opus.
    """
    if payload.codec is Codec.OPUS:
        return PacketCoder(payload, bitrate)
    return FrameCoder(payload)


def _by_sample(codec: Codec) -> Callable[[bytes], bytes]:
    if codec is Codec.PCM_S16LE:
        return bytes
    from legato.codecs.g711 import law

    return law(codec).encode
