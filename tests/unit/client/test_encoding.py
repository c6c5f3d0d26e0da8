import numpy as np
import pytest

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.client.encoding import FrameCoder, PacketCoder, coder_for
from legato.codecs.g711 import law
from legato.codecs.opus import OpusEncoder

OPUS = PayloadFormat(16_000, 1, Codec.OPUS, 20)
PCM = np.random.default_rng(1).integers(-9_000, 9_000, 40_000).astype("<i2").tobytes()


async def coded(coder: FrameCoder | PacketCoder, step: int) -> list[bytes]:
    payloads = []
    for at in range(0, len(PCM), step):
        payloads += [payload async for payload in coder.push(PCM[at : at + step])]
    return payloads + await coder.finish()


@pytest.mark.parametrize("step", [1_000, len(PCM)])
async def test_opus_goes_up_in_packets(step: int) -> None:
    encoder = OpusEncoder(OPUS, 16_000)
    assert await coded(coder_for(OPUS, 16_000), step) == encoder.push(PCM) + encoder.finish()


@pytest.mark.parametrize("codec", [Codec.MULAW, Codec.ALAW])
async def test_telephony_goes_up_in_frames(codec: Codec) -> None:
    payloads = await coded(coder_for(PayloadFormat(8_000, 1, codec, 30), 0), 1_000)
    assert b"".join(payloads) == law(codec).encode(PCM)
    assert {len(payload) for payload in payloads[:-1]} == {240}


async def test_pcm_goes_up_as_it_is() -> None:
    payloads = await coded(coder_for(PayloadFormat(16_000), 0), 1_000)
    assert b"".join(payloads) == PCM
    assert {len(payload) for payload in payloads[:-1]} == {AudioFormat(16_000).frame_bytes(0.02)}


async def test_nothing_said_is_nothing_sent() -> None:
    assert await coder_for(OPUS, 16_000).finish() == []
