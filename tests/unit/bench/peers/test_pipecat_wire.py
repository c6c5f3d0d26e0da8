import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.bench.peers.pipecat_wire import audio_bytes_in, audio_message

AUDIO = bytes.fromhex(
    "1228080112154f7574707574417564696f5261774672616d6523301a08010002000100020020807d2801"
)
"""Eight bytes of 16 kHz audio as pipecat 1.14.0's ProtobufFrameSerializer wrote them."""

TEXT = bytes.fromhex("0a130802120b546578744672616d6523301a026869")
"""Its text frame "hi"."""


def test_what_pipecat_wrote_is_read() -> None:
    assert audio_bytes_in(AUDIO) == 8
    assert audio_bytes_in(TEXT) == 0
    assert audio_bytes_in(b"") == 0


def test_a_message_has_the_field_numbers_of_frames_proto() -> None:
    message = audio_message(b"\x01\x00\x02\x00", sample_rate=16_000, channels=1)
    assert message.hex() == "120b1a040100020020807d2801"


@given(pcm=st.binary(max_size=3000), rate=st.integers(1, 1 << 31))
def test_what_is_written_is_read(pcm: bytes, rate: int) -> None:
    assert audio_bytes_in(audio_message(pcm, sample_rate=rate, channels=2)) == len(pcm)


def test_fields_of_other_kinds_are_passed_over() -> None:
    fixed = bytes([9 << 3 | 1]) + bytes(8) + bytes([10 << 3 | 5]) + bytes(4)
    assert audio_bytes_in(fixed + AUDIO) == 8


@pytest.mark.parametrize("message", [AUDIO[:-4], b"\x12\x80", b"\x80", b"\x0b", bytes([7])])
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut short|wire type"):
        audio_bytes_in(message)
