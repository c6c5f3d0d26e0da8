import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat
from legato.codecs.files import FrameConverter, decode, probe
from legato.codecs.wav import header, wav_bytes
from legato.errors import BadAudio
from tests.unit.codecs.recordings import Pipe, as_binary, encoded, id3, int16, noise, riff, tone

MONO = AudioFormat(16_000)
STEREO = AudioFormat(16_000, 2)
ONE_SECOND = tone(440, 16_000, 1.0)

EVERY_KIND = [
    ("wav", "pcm_s16le", 16_000),
    ("wav", "pcm_s24le", 48_000),
    ("wav", "pcm_f32le", 22_050),
    ("wav", "pcm_mulaw", 8_000),
    ("mp3", "libmp3lame", 44_100),
    ("flac", "flac", 16_000),
    ("ogg", "libopus", 48_000),
    ("ogg", "flac", 16_000),
    ("mp4", "aac", 44_100),
    ("mp4", "alac", 44_100),
    ("webm", "libopus", 48_000),
    ("adts", "aac", 44_100),
    ("mpegts", "aac", 48_000),
    ("aiff", "pcm_s16be", 16_000),
    ("au", "pcm_mulaw", 8_000),
    ("avi", "libmp3lame", 44_100),
    ("wv", "wavpack", 96_000),
]
if "libopencore_amrnb" in av.codecs_available:  # every FFmpeg reads it, few write it
    EVERY_KIND.append(("amr", "libopencore_amrnb", 8_000))

Opener = Callable[[bytes], BinaryIO]


def as_pipe(data: bytes) -> BinaryIO:
    return as_binary(Pipe(data))


either = pytest.mark.parametrize("source", [io.BytesIO, as_pipe], ids=["file", "pipe"])


def pcm_of(data: bytes, target: AudioFormat = MONO, source: Opener = io.BytesIO) -> bytes:
    return b"".join(chunk.pcm for chunk in decode(source(data), target))


def pitch_hz(pcm: bytes, rate_hz: int) -> float:
    samples = int16(pcm)
    return float(np.argmax(np.abs(np.fft.rfft(samples))) * rate_hz / samples.size)


# Good files.


@either
@pytest.mark.parametrize(("container", "codec", "rate_hz"), EVERY_KIND)
def test_any_kind_of_file_gives_its_sound(
    container: str, codec: str, rate_hz: int, source: Opener
) -> None:
    decoding = decode(source(encoded(container, codec, rate_hz)), MONO)
    pcm = b"".join(chunk.pcm for chunk in decoding)
    assert decoding.seconds == len(pcm) / 32_000 == pytest.approx(2.0, abs=0.06)
    assert pitch_hz(pcm, 16_000) == pytest.approx(440, abs=2)
    assert (decoding.truncated, decoding.skipped, decoding.warning) == (False, 0, None)
    assert (decoding.info.sample_rate, decoding.info.channels) == (rate_hz, 1)


@either
def test_pcm_in_the_wanted_format_is_untouched(source: Opener) -> None:
    pcm = noise(16_001)
    assert pcm_of(wav_bytes(pcm, MONO), MONO, source) == pcm
    assert pcm_of(wav_bytes(pcm[2:], STEREO), STEREO, source) == pcm[2:]


def test_chunks_are_of_100_ms_and_numbered_by_their_samples() -> None:
    chunks = list(decode(io.BytesIO(wav_bytes(noise(4001), MONO)), MONO))
    assert [chunk.samples for chunk in chunks] == [1600, 1600, 801]
    assert [chunk.sample for chunk in chunks] == [0, 1600, 3200]
    assert {chunk.format for chunk in chunks} == {MONO}


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 24_000, 44_100, 48_000])
def test_any_rate_can_be_asked_for(rate_hz: int) -> None:
    pcm = pcm_of(riff(ONE_SECOND), AudioFormat(rate_hz))
    assert len(pcm) // 2 == pytest.approx(rate_hz, abs=1)
    assert pitch_hz(pcm, rate_hz) == pytest.approx(440, abs=2)


def test_mono_is_doubled_at_full_loudness() -> None:
    both = int16(pcm_of(riff(ONE_SECOND), STEREO)).reshape(-1, 2)
    assert np.array_equal(both[:, 0], int16(ONE_SECOND))
    assert np.array_equal(both[:, 0], both[:, 1])


@either
@pytest.mark.parametrize("target", [MONO, STEREO])
@pytest.mark.parametrize("channels", [2, 3, 4, 6, 8, 9, 20, 64])
def test_more_channels_are_mixed_down_without_clipping(
    channels: int, target: AudioFormat, source: Opener
) -> None:
    loud = np.repeat(np.frombuffer(tone(440, 16_000, 0.5, 32_767), "<i2"), channels)
    pcm = pcm_of(riff(loud.tobytes(), channels=channels), target, source)
    assert len(pcm) == 8_000 * target.sample_bytes
    mono = int16(pcm)[:: target.channels]
    assert np.abs(mono - int16(tone(440, 16_000, 0.5, 32_767))).max() < 40


def test_surround_sound_keeps_its_middle() -> None:
    silence = np.zeros(8_000, "<i2")
    middle = np.frombuffer(tone(440, 16_000, 0.5), "<i2")
    channels = [silence, silence, middle, silence, silence, silence]
    wide = np.stack(channels, axis=1).tobytes()
    assert np.abs(int16(pcm_of(riff(wide, channels=6)))).max() > 3_000


def test_a_path_is_opened_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "speech.flac"
    path.write_bytes(encoded("flac", "flac"))
    for name in (path, str(path)):
        with decode(name, MONO) as decoding:
            assert next(decoding).samples == 1600


def test_a_stream_stays_open_and_is_read_from_where_it_stands() -> None:
    stream = io.BytesIO(b"prefix" + riff(ONE_SECOND))
    stream.seek(6)
    assert sum(chunk.samples for chunk in decode(stream, MONO)) == 16_000
    assert not stream.closed


def test_a_closed_decoding_is_over() -> None:
    decoding = decode(io.BytesIO(riff(ONE_SECOND)), MONO)
    next(decoding)
    decoding.close()
    decoding.close()
    assert list(decoding) == []


def test_the_facts_of_a_file_are_had_without_decoding(tmp_path: Path) -> None:
    path = tmp_path / "speech.m4a"
    path.write_bytes(encoded("mp4", "aac", 44_100, layout="stereo"))
    info = probe(path)
    assert (info.codec, info.sample_rate, info.channels) == ("aac", 44_100, 2)
    assert info.duration == pytest.approx(2.0, abs=0.01)
    assert probe(as_pipe(encoded("mp3", "libmp3lame"))).duration is None


def test_texts_that_are_not_utf_8_do_not_matter() -> None:
    data = encoded("avi", "libmp3lame", 44_100)
    software = data.index(b"ISFT") + 8
    assert pcm_of(data[:software] + b"\xe9\xff\xfe" + data[software + 3 :]) == pcm_of(data)


@either
def test_an_id3_tag_is_no_sound(source: Opener) -> None:
    mp3 = encoded("mp3", "libmp3lame", id3v2_version="0")
    assert pcm_of(id3(200_000) + mp3, MONO, source) == pcm_of(mp3, MONO, source)


# Cut, damaged and odd files.


@either
@pytest.mark.parametrize(
    ("container", "codec", "rate_hz"),
    [
        ("wav", "pcm_s16le", 16_000),
        ("wav", "pcm_f32le", 16_000),
        ("flac", "flac", 16_000),
        ("webm", "libopus", 48_000),
        ("adts", "aac", 44_100),
        ("aiff", "pcm_s16be", 16_000),
        ("au", "pcm_mulaw", 8_000),
    ],
)
def test_of_a_cut_file_what_is_there_comes_out_and_it_is_said(
    container: str, codec: str, rate_hz: int, source: Opener
) -> None:
    data = encoded(container, codec, rate_hz)
    decoding = decode(source(data[: len(data) * 6 // 10]), MONO)
    pcm = b"".join(chunk.pcm for chunk in decoding)
    assert 0.5 < len(pcm) / 32_000 < 1.5
    assert pitch_hz(pcm, 16_000) == pytest.approx(440, abs=3)
    assert decoding.truncated
    assert (decoding.warning or "").startswith("the input: is cut off; ")


def test_a_cut_is_told_with_how_much_is_missing() -> None:
    decoding = decode(io.BytesIO(riff(ONE_SECOND)[:20_044]), MONO)
    assert sum(chunk.samples for chunk in decoding) == 10_000
    assert decoding.warning == "the input: is cut off; 0.6 s of 1.0 s could be read"


def test_a_cut_mp3_is_seen_by_its_length_tag() -> None:
    data = encoded("mp3", "libmp3lame", 44_100)
    decoding = decode(io.BytesIO(data[: len(data) * 6 // 10]), MONO)
    assert sum(chunk.samples for chunk in decoding) > 16_000
    assert decoding.truncated


def test_a_few_missing_samples_are_no_cut() -> None:
    decoding = decode(io.BytesIO(riff(ONE_SECOND, declared_bytes=32_100)), MONO)
    assert sum(chunk.samples for chunk in decoding) == 16_000
    assert decoding.warning is None


@either
@pytest.mark.parametrize("declared", [0, 0x7FFFFFFF, 0x80000024, 0xFFFFFF00, 0xFFFFFFFF])
def test_a_wav_that_declares_2_or_4_gb_is_read_to_its_end(declared: int, source: Opener) -> None:
    decoding = decode(source(riff(ONE_SECOND, declared_bytes=declared)), MONO)
    assert b"".join(chunk.pcm for chunk in decoding) == ONE_SECOND
    assert decoding.warning is None


def test_our_own_pipe_is_read_back() -> None:
    assert pcm_of(header(MONO, None) + ONE_SECOND, MONO, as_pipe) == ONE_SECOND


def test_damage_in_the_middle_is_told_after_the_rest_was_decoded() -> None:
    data = encoded("mp3", "libmp3lame", seconds=20, write_xing="0")
    middle = len(data) // 2
    decoding = decode(io.BytesIO(data[:middle] + noise(200) + data[middle + 400 :]), MONO)
    assert sum(chunk.samples for chunk in decoding) > 19 * 16_000
    assert decoding.skipped > 0
    expected = f"the input: is damaged; {decoding.skipped} packets could not be decoded"
    assert (decoding.truncated, decoding.warning) == (False, expected)


def test_a_file_that_ends_in_mid_sample_loses_half_a_sample() -> None:
    assert pcm_of(riff(ONE_SECOND + b"x")) == ONE_SECOND


@either
@pytest.mark.parametrize(("bits", "dtype"), [(32, "<f4"), (64, "<f8")])
def test_what_is_no_number_is_silent_and_spreads_nowhere(
    bits: int, dtype: str, source: Opener
) -> None:
    samples: NDArray[np.floating] = np.frombuffer(ONE_SECOND, "<i2").astype(dtype) / 32_768
    samples[8_000:8_100] = np.nan
    samples[9_000], samples[9_001] = np.inf, -np.inf
    out = int16(pcm_of(riff(samples.tobytes(), tag=3, bits=bits), MONO, source))
    expected = int16(ONE_SECOND).copy()
    expected[8_000:8_100] = 0
    expected[9_000], expected[9_001] = 32_767, -32_768
    assert np.array_equal(out, expected)


def test_floats_beyond_full_scale_are_clipped() -> None:
    samples = np.array([2.0, -2.0, 0.5] * 1000, "<f4")
    out = int16(pcm_of(riff(samples.tobytes(), tag=3, bits=32)))
    assert out[:3].tolist() == [32_767, -32_768, 16_384]


@either
@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (riff(b""), "has no audio in it (0 samples)"),
        (riff(b"", declared_bytes=32_000), "begins like WAV, but no audio could be decoded"),
        (riff(noise(9_000), tag=0x55), "begins like WAV, but no audio could be decoded"),
        (riff(ONE_SECOND, rate_hz=1), "declares a sample rate of 1 Hz"),
        (riff(ONE_SECOND, rate_hz=2**31 - 1), "declares a sample rate of 2147483647 Hz"),
        (riff(ONE_SECOND, channels=65), "65 channels cannot be mixed down"),
        (riff(ONE_SECOND, channels=500), "500 channels cannot be mixed down"),
    ],
)
def test_what_gives_no_sample_is_bad_audio(data: bytes, cause: str, source: Opener) -> None:
    with pytest.raises(BadAudio) as raised:
        pcm_of(data, MONO, source)
    assert raised.value.message.startswith(f"the input: {cause}")


@either
def test_65535_channels_are_bad_audio_however_ffmpeg_takes_them(source: Opener) -> None:
    with pytest.raises(BadAudio, match="channels"):
        pcm_of(riff(ONE_SECOND * 10, channels=65_535), MONO, source)


def test_a_refused_file_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir or Madam,\n")
    with pytest.raises(BadAudio, match=r"letter\.txt: is text, not audio"):
        decode(path, MONO)  # an open file would be a ResourceWarning, which is an error here


def test_more_than_is_allowed_is_refused_after_what_is() -> None:
    decoding = decode(io.BytesIO(riff(ONE_SECOND)), MONO, max_seconds=0.45)
    with pytest.raises(BadAudio, match=r"is longer than 0\.45 s"):
        list(decoding)
    assert list(decoding) == []


# Frames that change half-way.


def frame(rate_hz: int, layout: str, samples: int = 4_800) -> av.AudioFrame:
    count = av.AudioLayout(layout).nb_channels
    mono = np.frombuffer(tone(440, rate_hz, samples / rate_hz), "<i2")
    made = av.AudioFrame.from_ndarray(np.repeat(mono, count).reshape(1, -1), "s16", layout)
    made.sample_rate = rate_hz
    return made


def test_a_file_may_change_its_rate_and_channels_half_way() -> None:
    converter = FrameConverter("x", STEREO)
    pieces = [
        converter.push(frame(48_000, "mono")),
        converter.push(frame(48_000, "stereo")),
        converter.push(frame(16_000, "5.1", 1_600)),
        converter.end(),
    ]
    assert len(b"".join(pieces)) == 3 * 1_600 * 4


def test_frames_of_too_many_channels_are_bad_audio() -> None:
    many = av.AudioFrame("s16", "65 channels", 10)
    many.sample_rate = 16_000
    with pytest.raises(BadAudio, match=r"^x: 65 channels cannot be mixed down$"):
        FrameConverter("x", MONO).push(many)


def test_a_converter_without_frames_has_nothing_to_give() -> None:
    assert FrameConverter("x", MONO).end() == b""


# Memory. In a process of its own, because only the largest size so far can be asked for.

MEASURE = """
import resource, sys
from legato.audio import AudioFormat
from legato.codecs.files import decode
from legato.errors import BadAudio

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

list(decode(sys.argv[1], AudioFormat(16_000)))
before = peak_mib()
try:
    seconds = sum(chunk.duration for chunk in decode(sys.argv[2], AudioFormat(16_000)))
except BadAudio as error:
    seconds = 0.0
print(seconds, peak_mib() - before)
"""


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make", "seconds"),
    [
        ("tag.mp3", lambda: id3(64 << 20) + encoded("mp3", "libmp3lame"), 2.0),
        ("bomb.flac", lambda: silence(1200), 1200.0),
        ("long.wav", lambda: riff(bytes(64 << 20)), 2097.152),
        (
            "texts.wav",
            lambda: riff(b"")[:36] + b"LIST\0\0\0\x70INFOINAM\0\0\0\x60" + riff(ONE_SECOND)[36:],
            0.0,
        ),
        ("zeros.bin", lambda: bytes(64 << 20), 0.0),
    ],
)
def test_no_file_takes_much_memory(
    tmp_path: Path, name: str, make: Callable[[], bytes], seconds: float
) -> None:
    warm, path = tmp_path / "warm.mp3", tmp_path / name
    warm.write_bytes(encoded("mp3", "libmp3lame"))
    path.write_bytes(make())
    command = [sys.executable, "-c", MEASURE, str(warm), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    decoded, grown_mib = map(float, ran.stdout.split())
    assert decoded == pytest.approx(seconds, abs=0.1)
    assert grown_mib < 32


def silence(seconds: int) -> bytes:
    """Nothing, packed more than a thousand to one."""
    file = io.BytesIO()
    with av.open(file, "w", format="flac") as output:
        stream = output.add_stream("flac", rate=48_000, layout="mono")
        assert isinstance(stream, av.AudioStream)
        quiet = np.zeros((1, 4_800), np.int16)
        for at in range(0, seconds * 48_000, 4_800):
            piece = av.AudioFrame.from_ndarray(quiet, "s16", "mono")
            piece.sample_rate, piece.pts = 48_000, at
            output.mux(stream.encode(piece))
        output.mux(stream.encode(None))
    return file.getvalue()
