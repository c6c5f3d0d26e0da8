"""Coding of what a stream says and hears, beside the loop: in threads that do nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from legato.audio import Codec, PayloadFormat

if TYPE_CHECKING:
    from legato.codecs.opus import OpusEncoder, SteadyOpusDecoder

P = ParamSpec("P")
T = TypeVar("T")

CODEC_THREADS: Final = 2
"""Of a worker. Coding 20 ms of Opus takes 0.15 ms, so that one thread serves a hundred streams."""

Translation = Callable[[bytes], bytes]

_BY_SAMPLE: Final = (Codec.MULAW, Codec.ALAW)


class PacketCoder:
    """Codes one stream into Opus packets, with one encoder for each utterance.

    Args:
        format: Of the stream.
        bitrate: Bits a second to aim at.

    Attributes:
        rung: What `switch_up` calls it.
    """

    def __init__(self, format: PayloadFormat, bitrate: int) -> None:  # noqa: A002  (the field's name everywhere)
        self.rung = f"opus-{bitrate // 1000}"
        self._format = format
        self._bitrate = bitrate
        self._encoder: OpusEncoder | None = None
        self._pushed = self._given = 0

    @property
    def pending_samples(self) -> int:
        """Samples that were pushed and no packet was returned of."""
        return self._pushed - self._given

    async def push(self, pcm: bytes) -> list[bytes]:
        """Return the packets that `pcm` completes."""
        # Noted here and not in the thread, which goes on if this is cancelled: what it made is lost
        # then, and nothing of it is in the next utterance.
        self._encoder, packets = await in_thread(self._push, self._encoder, pcm)
        self._pushed += self._format.pcm.samples_in(pcm)
        self._given += len(packets) * self._format.packet_samples
        return packets

    async def finish(self) -> list[bytes]:
        """Return the last packets of the encoder, and forget it."""
        packets = await in_thread(self._finish)
        self.renew()
        return packets

    def finish_now(self) -> list[bytes]:
        """Do what `finish` does, in this thread: two packets or three."""
        packets = self._finish()
        self.renew()
        return packets

    def renew(self) -> None:
        """Forget the encoder, and what it holds; the next one begins with what is pushed then."""
        self._encoder = None
        self._pushed = self._given = 0

    def _push(self, encoder: OpusEncoder | None, pcm: bytes) -> tuple[OpusEncoder, list[bytes]]:
        if encoder is None:
            from legato.codecs.opus import OpusEncoder  # loads FFmpeg

            encoder = OpusEncoder(self._format, self._bitrate)
        return encoder, encoder.push(pcm)

    def _finish(self) -> list[bytes]:
        return [] if self._encoder is None else self._encoder.finish()


class PayloadDecoder:
    """Decodes what one stream hears; every payload into exactly the samples that it stands for.

    Args:
        format: Of the stream.
    """

    def __init__(self, format: PayloadFormat) -> None:  # noqa: A002  (the field's name everywhere)
        self._format = format
        self._translate = decoding(format.codec)
        self._packets: SteadyOpusDecoder | None = None

    async def decode(self, payload: bytes) -> bytes:
        """Return s16le samples.

        Raises:
            BadAudio: If it is not what the stream declares.
        """
        if self._format.codec is Codec.PCM_S16LE:
            return payload
        if self._translate is not None:
            return self._translate(payload)
        return await in_thread(self._decode, payload)

    def renew(self) -> None:
        """Forget what came before: what comes next does not follow it."""
        self._packets = None

    def _decode(self, packet: bytes) -> bytes:
        if self._packets is None:
            from legato.codecs.opus import SteadyOpusDecoder  # loads FFmpeg

            self._packets = SteadyOpusDecoder(self._format)
        return self._packets.decode(packet)


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do `work` in a codec thread and return what it returns."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), partial(work, *args, **kwargs))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CODEC_THREADS, thread_name_prefix="legato-codec")


def encoding(codec: Codec) -> Translation | None:
    """Return what codes PCM sample by sample, None where nothing does so."""
    if codec not in _BY_SAMPLE:
        return None
    from legato.codecs.g711 import law  # loads NumPy

    return law(codec).encode


def decoding(codec: Codec) -> Translation | None:
    """Return what makes PCM of it sample by sample, None where nothing does so."""
    if codec not in _BY_SAMPLE:
        return None
    from legato.codecs.g711 import law  # loads NumPy

    return law(codec).decode
