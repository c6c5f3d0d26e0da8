"""What comes down, as the application gets it: PCM, whatever the codec is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from legato.audio import Codec, PayloadFormat
from legato.protocol.media import AudioFrame
from legato.protocol.messages import SwitchDown, SwitchUp, UtteranceEnd
from legato.session.lane import Item

if TYPE_CHECKING:
    from legato.codecs.opus import OpusDecoder


def decoder_for(payload: PayloadFormat) -> SampleDecoder | PacketDecoder:
    """Return what decodes a stream that is not PCM; loads NumPy, or FFmpeg for Opus."""
    if payload.codec is Codec.OPUS:
        return PacketDecoder(payload)
    from legato.codecs.g711 import law

    return SampleDecoder(law(payload.codec).decode)


class SampleDecoder:
    """Decodes sample by sample.

    Args:
        decode: Returns the PCM of a payload.
    """

    def __init__(self, decode: Callable[[bytes], bytes]) -> None:
        self._decode = decode

    def take(self, item: Item) -> list[Item]:
        """Return what to hand on for the next entry."""
        if type(item) is not AudioFrame:
            return [item]
        return [msgspec.structs.replace(item, payload=self._decode(item.payload))]

    def forget(self, utterance: int) -> None:
        """Nothing is kept, so that there is nothing to forget."""


class PacketDecoder:
    """Decodes Opus packets into exactly the samples that were coded.

    A decoder begins with each encoder: where `switch_*` says so. What it holds back comes at the
    utterance's end, which also tells how much of the last packet counts.

    Args:
        payload: What the stream's frames hold.
    """

    def __init__(self, payload: PayloadFormat) -> None:
        self._payload = payload
        self._sample_bytes = payload.pcm.sample_bytes
        self._decoder: OpusDecoder | None = None
        self._sample = self._decoded_upto = 0
        self._utterance = self._forgotten = -1
        self._last: AudioFrame | None = None

    def take(self, item: Item) -> list[Item]:
        """Return what to hand on for the next entry.

        Raises:
            BadAudio: If a packet cannot be decoded.
        """
        if type(item) is AudioFrame:
            if item.last:
                self._last = item  # the next entry tells how much of it counts
                return []
            return [*self._joined(item), *self._heard(item, self._decode(item))]
        if isinstance(item, SwitchDown | SwitchUp) and item.reset:
            return self._restarted(item.sample)
        if isinstance(item, UtteranceEnd):
            if item.reason == "cancelled":
                self._drop()
                return [item]
            return [*self._finished(item), item]
        return [item]

    def forget(self, utterance: int) -> None:
        """Hand on nothing more of the utterances up to this one, which were cancelled."""
        self._forgotten = utterance

    def _joined(self, frame: AudioFrame) -> list[Item]:
        """Begin anew at a frame that does not follow what was decoded."""
        if self._decoder is not None and frame.sample == self._decoded_upto:
            return []
        before = self._restarted(frame.sample)
        self._sample = frame.sample
        return before

    def _restarted(self, sample: int) -> list[Item]:
        """Return what the decoder still holds, up to `sample`, and let another one begin."""
        pcm = b"" if self._decoder is None else self._decoder.flush()
        heard = self._heard(None, self._until(sample, pcm))
        self._drop()
        return heard

    def _finished(self, end: UtteranceEnd) -> list[Item]:
        last, self._last = self._last, None
        joined = self._joined(last) if last is not None and last.payload else []
        pcm = b"" if last is None else self._decode(last)
        if self._decoder is not None:
            pcm += self._decoder.flush()
        heard = self._heard(last, self._until(end.sample, pcm))
        self._decoded_upto = self._sample = end.sample
        return [*joined, *heard]

    def _until(self, sample: int, pcm: bytes) -> bytes:
        return pcm[: max(0, sample - self._sample) * self._sample_bytes]

    def _decode(self, frame: AudioFrame) -> bytes:
        if not frame.payload:
            return b""
        if self._decoder is None:
            from legato.codecs.opus import OpusDecoder

            self._decoder = OpusDecoder(self._payload)
        self._utterance = frame.utterance
        self._decoded_upto = frame.sample + self._payload.packet_samples
        return self._decoder.decode(frame.payload)

    def _heard(self, frame: AudioFrame | None, pcm: bytes) -> list[Item]:
        """Return `pcm` as a frame at the place where it belongs."""
        sample = self._sample
        self._sample += len(pcm) // self._sample_bytes
        if not pcm or self._utterance <= self._forgotten:
            return []
        heard = AudioFrame(pcm, sample=sample, utterance=self._utterance)
        if frame is not None:
            heard.seq, heard.last = frame.seq, frame.last
        return [heard]

    def _drop(self) -> None:
        self._decoder = self._last = None
