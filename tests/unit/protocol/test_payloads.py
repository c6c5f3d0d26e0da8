import pytest

from legato.audio import Codec, PayloadFormat
from legato.errors import BadAudio, MalformedMessage
from legato.protocol.messages import StreamStart
from legato.protocol.payloads import (
    DEFAULT_BITRATE,
    bitrate_of,
    check_bitrate,
    check_packet,
    duration_us,
    payload_format,
)

OPUS = PayloadFormat(16_000, 1, Codec.OPUS, 20)


def start(**fields: object) -> StreamStart:
    return StreamStart(stream_id="s", task="echo", **fields)  # type: ignore[arg-type]  # tests


@pytest.mark.parametrize(
    ("config", "us"),
    [  # RFC 6716, table 2
        *((first + place, us) for first in (0, 4, 8)
          for place, us in enumerate((10_000, 20_000, 40_000, 60_000))),
        *((first + place, us) for first in (12, 14) for place, us in enumerate((10_000, 20_000))),
        *((first + place, us) for first in (16, 20, 24, 28)
          for place, us in enumerate((2_500, 5_000, 10_000, 20_000))),
    ],
)  # fmt: skip
def test_the_first_byte_of_a_packet_tells_how_long_its_frames_are(config: int, us: int) -> None:
    assert duration_us(bytes([config << 3])) == us
    assert duration_us(bytes([config << 3 | 1])) == 2 * us
    assert duration_us(bytes([config << 3 | 2])) == 2 * us


def test_the_second_byte_may_tell_how_many_frames_there_are() -> None:
    assert duration_us(bytes([9 << 3 | 3, 3])) == 60_000
    assert duration_us(bytes([9 << 3 | 3, 0xC0 | 2])) == 40_000  # padding and VBR are no count


@pytest.mark.parametrize("packet", [b"", bytes([9 << 3 | 3]), bytes([75, 0]), bytes([75, 7])])
def test_what_is_no_packet_is_bad_audio(packet: bytes) -> None:
    with pytest.raises(BadAudio, match="Opus packet"):
        duration_us(packet)


def test_a_packet_must_have_the_declared_length() -> None:
    check_packet(bytes([9 << 3]), OPUS)
    check_packet(b"", OPUS)
    with pytest.raises(BadAudio, match="holds 10 ms; frame_ms 20 was declared"):
        check_packet(bytes([8 << 3]), OPUS)


def test_a_stream_says_what_its_payloads_hold() -> None:
    wanted = start(codec="opus", sample_rate=8_000, channels=2, frame_ms=40)
    assert payload_format(wanted) == PayloadFormat(8_000, 2, Codec.OPUS, 40)


def test_opus_has_a_bitrate() -> None:
    assert bitrate_of(start(codec="opus")) == DEFAULT_BITRATE
    assert bitrate_of(start(codec="opus", options={"bitrate": 12_000})) == 12_000
    assert bitrate_of(start(options={"bitrate": "as the engine likes"})) == DEFAULT_BITRATE


@pytest.mark.parametrize("value", [5_999, 256_001, "24k", 24e3, True, None])
def test_a_bitrate_is_a_whole_number_within_bounds(value: object) -> None:
    with pytest.raises(MalformedMessage, match="bits a second, 6000 to 256000"):
        check_bitrate(value)
