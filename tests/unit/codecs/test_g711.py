import av
import numpy as np
import pytest

from legato.audio import Codec
from legato.codecs.g711 import law
from legato.errors import BadAudio

LAWS = [Codec.MULAW, Codec.ALAW]
FFMPEG = {Codec.MULAW: "pcm_mulaw", Codec.ALAW: "pcm_alaw"}
EVERY_CODE = bytes(range(256))
EVERY_VALUE = np.arange(-32_768, 32_768).astype("<i2")


@pytest.mark.parametrize("codec", LAWS)
def test_every_code_means_what_it_means_to_ffmpeg(codec: Codec) -> None:
    context = av.CodecContext.create(FFMPEG[codec], "r")
    assert isinstance(context, av.AudioCodecContext)
    context.sample_rate, context.layout = 8_000, "mono"
    (frame,) = context.decode(av.Packet(EVERY_CODE))
    theirs = bytes(frame.planes[0])[:512]
    assert law(codec).decode(EVERY_CODE) == theirs


@pytest.mark.parametrize(
    ("codec", "value", "code"),
    [  # ITU-T G.711, tables 1a to 2b: decision values, positive and negative
        (Codec.ALAW, 0, 0xD5),
        (Codec.ALAW, -1, 0x55),
        (Codec.ALAW, 32_767, 0xAA),
        (Codec.ALAW, -32_768, 0x2A),
        (Codec.ALAW, 16, 0xD4),
        (Codec.ALAW, 15, 0xD5),
        (Codec.ALAW, 512, 0xF5),
        (Codec.ALAW, 1_024, 0xE5),
        (Codec.MULAW, 0, 0xFF),
        (Codec.MULAW, -1, 0x7F),
        (Codec.MULAW, 32_767, 0x80),
        (Codec.MULAW, -32_768, 0x00),
        (Codec.MULAW, 4, 0xFE),
        (Codec.MULAW, 3, 0xFF),
        (Codec.MULAW, 31 * 4, 0xEF),
    ],
)
def test_values_have_the_codes_of_the_recommendation(codec: Codec, value: int, code: int) -> None:
    assert law(codec).encode(np.array([value], "<i2").tobytes()) == bytes([code])


@pytest.mark.parametrize("codec", LAWS)
def test_what_was_decoded_is_coded_as_before(codec: Codec) -> None:
    again = law(codec).encode(law(codec).decode(EVERY_CODE))
    # Mu-law has two codes of nought.
    assert again == (EVERY_CODE.replace(b"\x7f", b"\xff") if codec is Codec.MULAW else EVERY_CODE)


@pytest.mark.parametrize("codec", LAWS)
def test_a_value_comes_back_within_half_a_step(codec: Codec) -> None:
    back = np.frombuffer(law(codec).decode(law(codec).encode(EVERY_VALUE.tobytes())), "<i2")
    error = np.abs(back.astype(int) - EVERY_VALUE.astype(int))
    step = np.maximum((np.abs(EVERY_VALUE.astype(int)) + 132) / 16, 16)
    beyond = np.abs(EVERY_VALUE.astype(int)) > 32_124  # the largest value of mu-law
    assert (error <= step / 2 + 4)[~beyond].all()
    assert (np.diff(back.astype(int)) >= 0).all()


def test_half_a_sample_is_bad_audio() -> None:
    with pytest.raises(BadAudio, match="3 bytes are not whole samples"):
        law(Codec.ALAW).encode(bytes(3))


def test_pcm_has_no_law() -> None:
    with pytest.raises(KeyError):
        law(Codec.PCM_S16LE)
