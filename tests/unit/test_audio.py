import math

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import (
    AudioChunk,
    AudioFormat,
    Codec,
    PayloadFormat,
    level_dbfs,
    mix_channels,
    to_float,
    to_int16,
)
from legato.errors import BadAudio, UnsupportedFormat

MONO_16K = AudioFormat(16_000)
STEREO_48K = AudioFormat(48_000, 2)


def pcm(*samples: int) -> bytes:
    return np.array(samples, dtype="<i2").tobytes()


def test_the_codec_names_are_those_of_the_wire() -> None:
    assert [codec.value for codec in Codec] == ["pcm_s16le", "mulaw", "alaw", "opus"]


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_every_rate_from_8_to_48_khz_is_a_format(rate_hz: int, channels: int) -> None:
    assert AudioFormat(rate_hz, channels).sample_bytes == 2 * channels


@pytest.mark.parametrize("rate_hz", [-1, 0, 7_999, 48_001, 2**31])
def test_a_rate_outside_is_refused_by_name(rate_hz: int) -> None:
    with pytest.raises(UnsupportedFormat, match=f"sample_rate {rate_hz} "):
        AudioFormat(rate_hz)


@pytest.mark.parametrize("channels", [-1, 0, 3, 65_535])
def test_other_than_one_or_two_channels_are_refused_by_name(channels: int) -> None:
    with pytest.raises(UnsupportedFormat, match=f"not {channels}$"):
        AudioFormat(16_000, channels)


def test_seconds_and_samples_convert_both_ways() -> None:
    assert STEREO_48K.samples(0.02) == 960
    assert STEREO_48K.seconds(960) == 0.02
    assert AudioFormat(22_050).samples(0.1) == 2205
    assert AudioFormat(11_025).samples(0.02) == 220  # 220.5, to even


def test_a_20_ms_frame_of_16_khz_mono_is_640_bytes() -> None:
    assert MONO_16K.frame_bytes(0.02) == 640
    assert STEREO_48K.frame_bytes(0.02) == 3840


def test_samples_are_counted_per_channel() -> None:
    assert MONO_16K.samples_in(bytes(640)) == 320
    assert STEREO_48K.samples_in(memoryview(bytes(640))) == 160
    assert MONO_16K.samples_in(bytearray()) == 0


@pytest.mark.parametrize(
    ("pcm_format", "size", "says"),
    [
        (MONO_16K, 3, r"3 bytes .* of 2 bytes \(pcm_s16le, 1 channel\)"),
        (STEREO_48K, 6, r"6 bytes .* of 4 bytes \(pcm_s16le, 2 channels\)"),
    ],
)
def test_half_a_sample_is_bad_audio(pcm_format: AudioFormat, size: int, says: str) -> None:
    with pytest.raises(BadAudio, match=says):
        pcm_format.samples_in(bytes(size))


def test_a_chunk_knows_its_length() -> None:
    chunk = AudioChunk(bytes(3840), STEREO_48K, sample=960, utterance=2)
    assert (chunk.samples, chunk.duration) == (960, 0.02)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_outside_the_range_are_clipped_not_wrapped(dtype: type[np.floating]) -> None:
    audio: NDArray[np.floating] = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], dtype)
    assert to_int16(audio).tolist() == [-32768, -32768, -16384, 0, 16384, 32767, 32767]


def test_what_is_no_number_becomes_silence_and_infinity_the_edge() -> None:
    audio = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    assert to_int16(audio).tolist() == [0, 32767, -32768, 32767, -32768]


def test_int16_passes_through() -> None:
    audio = np.array([[1, -2], [3, 4]], np.int16)
    assert to_int16(audio) is audio or np.shares_memory(to_int16(audio), audio)


def test_every_sample_survives_the_way_through_floats() -> None:
    every = np.arange(-32768, 32768, dtype="<i2")
    assert np.array_equal(to_int16(to_float(every.tobytes())), every)


def test_floats_lie_below_one_and_keep_their_channels_apart() -> None:
    assert to_float(pcm(-32768, 0, 16384)).tolist() == [-1.0, 0.0, 0.5]
    assert to_float(pcm(0, 16384, -16384, 0), 2).tolist() == [[0.0, 0.5], [-0.5, 0.0]]
    assert to_float(b"").shape == (0,)


@pytest.mark.parametrize(("size", "channels"), [(1, 1), (3, 1), (2, 2), (6, 2)])
def test_floats_are_not_made_of_half_samples(size: int, channels: int) -> None:
    with pytest.raises(BadAudio, match=f"{size} bytes"):
        to_float(bytes(size), channels)


def test_mixing_averages_down_and_duplicates_up() -> None:
    assert mix_channels(pcm(100, 200, -32768, -32768, 32767, 32767), 2, 1) == pcm(
        150, -32768, 32767
    )
    assert mix_channels(pcm(1, -2), 1, 2) == pcm(1, 1, -2, -2)
    assert mix_channels(pcm(1, -2), 2, 2) == pcm(1, -2)


def test_mixing_down_rounds_to_even_and_so_adds_no_offset() -> None:
    assert mix_channels(pcm(0, 1, 1, 2, -1, 0, -2, -1), 2, 1) == pcm(0, 2, 0, -2)


@pytest.mark.parametrize(("source", "target"), [(1, 1), (1, 2), (2, 1)])
def test_half_samples_are_not_mixed(source: int, target: int) -> None:
    with pytest.raises(BadAudio, match="whole samples"):
        mix_channels(bytes(3), source, target)


def test_the_level_is_rms_relative_to_full_scale() -> None:
    assert level_dbfs(pcm(*[-32768] * 8)) == 0.0
    assert level_dbfs(pcm(16384, -16384)) == pytest.approx(-6.0206, abs=1e-4)


@pytest.mark.parametrize("silence", [b"", bytes(640)])
def test_silence_has_no_level(silence: bytes) -> None:
    assert level_dbfs(silence) == -math.inf


def test_a_chunk_has_the_rate_of_its_format() -> None:
    assert AudioChunk(b"", AudioFormat(22_050)).sample_rate == 22_050


@pytest.mark.parametrize(
    ("codec", "sample_bytes", "packet_samples"),
    [
        (Codec.PCM_S16LE, 4, 0),
        (Codec.MULAW, 2, 0),
        (Codec.ALAW, 2, 0),
        (Codec.OPUS, 0, 640),
    ],
)
def test_a_payload_holds_samples_or_is_a_packet(
    codec: Codec, sample_bytes: int, packet_samples: int
) -> None:
    payload = PayloadFormat(16_000, 2, codec, 40)
    assert payload.sample_bytes == sample_bytes
    assert payload.packet_samples == packet_samples
    assert payload.frame_samples == 640
    assert payload.pcm == AudioFormat(16_000, 2)
    assert payload.pcm.packet_samples == 0


def test_the_samples_of_a_payload_are_counted_whatever_the_codec() -> None:
    assert PayloadFormat(8_000, 1, Codec.MULAW).samples_in(bytes(160)) == 160
    assert PayloadFormat(8_000, 2, Codec.ALAW).samples_in(bytes(160)) == 80
    assert PayloadFormat(8_000, 1, Codec.PCM_S16LE).samples_in(bytes(160)) == 80
    assert PayloadFormat(8_000, 1, Codec.OPUS, 60).samples_in(b"packet") == 480
    assert PayloadFormat(8_000, 1, Codec.OPUS, 60).samples_in(b"") == 0


def test_half_a_sample_of_telephony_is_bad_audio() -> None:
    with pytest.raises(BadAudio, match=r"3 bytes are not whole samples of 2 bytes \(mulaw, 2 ch"):
        PayloadFormat(8_000, 2, Codec.MULAW).samples_in(bytes(3))
