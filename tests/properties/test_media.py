from hypothesis import given
from hypothesis import strategies as st

from legato.errors import MalformedMessage
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from tests.properties.declared import frames


def decoded(data: bytes) -> AudioFrame | None:
    """The frame, or None where the decoder refuses in the way that it may."""
    try:
        return decode_frame(data)
    except MalformedMessage:
        return None


@given(frame=frames)
def test_a_frame_arrives_as_it_was_sent(frame: AudioFrame) -> None:
    assert decode_frame(encode_frame(frame, frame.stream, frame.epoch)) == frame


@given(data=st.binary(max_size=200))
def test_no_bytes_crash_the_decoder_and_what_it_accepts_can_be_passed_on(data: bytes) -> None:
    frame = decoded(data)

    assert frame is None or decoded(encode_frame(frame, frame.stream, frame.epoch)) == frame


@given(frame=frames, data=st.data())
def test_a_damaged_frame_crashes_no_decoder(frame: AudioFrame, data: st.DataObject) -> None:
    whole = bytearray(encode_frame(frame, frame.stream, frame.epoch) or b"\x00")
    whole[data.draw(st.integers(0, min(40, len(whole) - 1)))] = data.draw(st.integers(0, 255))
    damaged = decoded(bytes(whole))

    assert damaged is None or damaged.sample < 2**53
