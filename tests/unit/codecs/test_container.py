import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from legato.codecs.container import AudioInfo, Container
from legato.codecs.source import Source
from legato.errors import BadAudio
from tests.unit.codecs.recordings import (
    Pipe,
    as_binary,
    encoded,
    film,
    noise,
    picture,
    riff,
    tone,
)

ONE_SECOND = tone(440, 16_000, 1.0)


SOURCES: list[Source] = []


@pytest.fixture(autouse=True)
def every_source_is_closed() -> Iterator[None]:
    yield
    while SOURCES:
        SOURCES.pop().close()


def opened(data: bytes | Pipe, *, pipe: bool = False) -> Container:
    if isinstance(data, bytes):
        data_stream = as_binary(Pipe(data)) if pipe else io.BytesIO(data)
    else:
        data_stream = as_binary(data)
    SOURCES.append(Source(data_stream))
    return Container(SOURCES[-1])


def decoded_seconds(container: Container) -> float:
    return sum(frame.samples / frame.sample_rate for frame in container.frames())


def refused(data: bytes, *, pipe: bool = False) -> str:
    """The cause, after the name of the file."""
    with pytest.raises(BadAudio) as raised:
        opened(data, pipe=pipe)
    return raised.value.message.removeprefix("the input: ")


@pytest.mark.parametrize(
    ("container", "codec", "rate_hz", "info", "declares"),
    [
        ("wav", "pcm_s16le", 16_000, AudioInfo("wav", "pcm_s16le", 16_000, 1, 2.0), True),
        ("mp3", "libmp3lame", 44_100, AudioInfo("mp3", "mp3float", 44_100, 1, 2.0), True),
        ("flac", "flac", 16_000, AudioInfo("flac", "flac", 16_000, 1, 2.0), True),
        ("ogg", "libopus", 48_000, AudioInfo("ogg", "opus", 48_000, 1, 2.0065), False),
    ],
)
def test_a_file_says_what_it_is(
    container: str, codec: str, rate_hz: int, info: AudioInfo, declares: bool
) -> None:
    file = opened(encoded(container, codec, rate_hz))
    assert file.info == info
    assert file.declared == (info.duration if declares else None)
    assert decoded_seconds(file) == pytest.approx(2.0, abs=0.05)
    assert (file.skipped, file.broken) == (0, False)
    file.close()


def test_a_tag_less_mp3_makes_no_promise() -> None:
    file = opened(encoded("mp3", "libmp3lame", 44_100, write_xing="0", id3v2_version="0"))
    assert file.declared is None
    assert file.info.duration is not None


@pytest.mark.parametrize("container", ["mp4", "matroska", "mpegts"])
def test_the_length_of_a_film_is_not_taken_for_that_of_its_sound(container: str) -> None:
    file = opened(film(container, sound=True))
    assert decoded_seconds(file) == pytest.approx(0.5, abs=0.15)
    assert file.declared is None or file.declared == pytest.approx(0.5, abs=0.15)
    assert not file.broken


def test_a_track_that_appears_half_way_changes_nothing() -> None:
    first = encoded("mpegts", "aac", 44_100)
    second = encoded("mpegts", "aac", 44_100, mpegts_start_pid="512", mpegts_pmt_start_pid="4200")
    file = opened(first + second + second)
    assert decoded_seconds(file) == pytest.approx(2.0, abs=0.06)
    assert not file.broken


def test_wav_on_a_pipe_is_read_as_it_comes() -> None:
    pipe = Pipe(riff(ONE_SECOND * 30), step=640)
    file = opened(pipe)
    frames = file.frames()
    next(frames)
    assert pipe.taken <= 16_000  # half a second; FFmpeg's own reader waits for two
    assert file.info == AudioInfo("wav", "pcm_s16le", 16_000, 1, 30.0)


def test_what_follows_the_samples_of_a_wav_on_a_pipe_is_no_sound() -> None:
    file = opened(riff(ONE_SECOND) + b"LIST\4\0\0\0abcd", pipe=True)
    assert decoded_seconds(file) == pytest.approx(1.0)


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("flags", ["faststart", "frag_keyframe+empty_moov", "-faststart"])
def test_mp4_is_read_from_a_pipe_wherever_its_index_is(flags: str, pipe: bool) -> None:
    file = opened(encoded("mp4", "aac", 44_100, movflags=flags), pipe=pipe)
    assert decoded_seconds(file) == pytest.approx(2.0, abs=0.05)


def test_mp4_that_begins_with_its_index_is_not_spooled() -> None:
    opened(encoded("mp4", "aac", 44_100, movflags="frag_keyframe+empty_moov"), pipe=True)
    assert not SOURCES[-1].seekable()


@pytest.mark.parametrize("box", [b"\0\0\0\0free", b"\0\0\0\1wide", b"\xff\xff\xff\xfffree"])
def test_mp4_boxes_of_odd_sizes_are_spooled_and_refused(box: bytes) -> None:
    data = b"\0\0\0\x14ftypM4A \0\0\0\0isom" + box + noise(100)
    assert "MP4 file without its index" in refused(data, pipe=True)


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"hello, this is text\n" * 300, "is text, not audio"),
        ("你好，世界。\n".encode() * 300, "is text, not audio"),
        (b"{}", "is text, not audio"),
        (noise(20_000), "is not audio that FFmpeg can read"),
        (bytes(20_000), "is not audio that FFmpeg can read"),
        (b"PK\3\4" + noise(2_000), "is not audio that FFmpeg can read"),
        (picture(), "has no audio track, only video"),
        (film("matroska"), "has no audio track, only video"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n\n" * 9, "has no audio track, only subtitle"),
        (riff(ONE_SECOND)[:30], "begins like WAV, but no audio could be decoded"),
        (b"fLaC" + bytes(50), "begins like FLAC, but no audio could be decoded"),
        (riff(ONE_SECOND, rate_hz=0), "declares a sample rate of 0 Hz"),
        (riff(ONE_SECOND, channels=0), "declares no channels or no sample rate"),
        (riff(ONE_SECOND, tag=0x1234), "is coded in a way that FFmpeg does not know"),
    ],
    ids=lambda value: value if isinstance(value, str) else "data",  # the same in each process
)
def test_what_is_no_audio_says_what_it_is(data: bytes, cause: str, pipe: bool) -> None:
    assert refused(data, pipe=pipe).startswith(cause)


def test_a_cut_mp4_has_no_index() -> None:
    data = encoded("mp4", "aac", 44_100)
    expected = "is an MP4 file without its index: it was cut off, or never finished"
    assert refused(data[: len(data) // 2]) == expected


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n"),
        (".ffconcat", "ffconcat version 1.0\nfile '{}'\n"),
        (
            ".sdp",
            "v=0\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\na=rtpmap:0 PCMU/8000\n",
        ),
    ],
)
def test_a_playlist_opens_nothing(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / "secret.wav").write_bytes(riff(ONE_SECOND))
    playlist = tmp_path / f"list{suffix}"
    playlist.write_text(text.format("secret.wav"))
    source = Source(playlist)
    with pytest.raises(BadAudio, match="is text, not audio"):
        Container(source)
    source.close()


def test_the_original_error_is_the_cause() -> None:
    with pytest.raises(BadAudio) as raised:
        opened(noise(20_000))
    assert "Invalid data" in str(raised.value.__cause__)


def test_damage_in_the_middle_is_left_out_and_counted() -> None:
    data = encoded("mp3", "libmp3lame")
    middle = len(data) // 2
    file = opened(data[:middle] + noise(400) + data[middle + 800 :])
    assert 1.0 < decoded_seconds(file) < 2.0
    assert file.skipped > 0
    assert not file.broken


@pytest.mark.parametrize(("container", "codec"), [("adts", "aac"), ("flac", "flac")])
def test_a_file_cut_inside_a_packet_is_broken(container: str, codec: str) -> None:
    data = encoded(container, codec)
    file = opened(data[: len(data) * 6 // 10])
    assert 0.5 < decoded_seconds(file) < 1.5
    assert file.broken


def test_a_demuxer_that_loses_its_way_ends_the_file() -> None:
    data = encoded("wv", "wavpack", 44_100)
    file = opened(data[: len(data) * 6 // 10])
    assert 0.0 < decoded_seconds(file) < 2.0
    assert file.broken


@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), OSError("Input/output error")])
def test_a_disk_that_fails_is_not_the_file_s_fault(fault: OSError) -> None:
    file = opened(Pipe(riff(ONE_SECOND * 10, declared_bytes=0), fault=fault))
    with pytest.raises(BadAudio, match="cannot be read: Input/output error"):
        decoded_seconds(file)


def test_a_disk_that_fails_while_opening_says_so() -> None:
    pipe = Pipe(encoded("flac", "flac")[:5000], fault=OSError(5, "Input/output error"))
    with pytest.raises(BadAudio, match="cannot be read: Input/output error"):
        opened(pipe)


def test_a_pipe_that_fails_while_it_is_spooled_says_so() -> None:
    pipe = Pipe(encoded("mp4", "aac", 44_100)[:9000], fault=OSError(5, "Input/output error"))
    with pytest.raises(BadAudio, match="cannot be read: Input/output error"):
        opened(pipe)


def test_ctrl_c_while_a_pipe_is_read_is_not_lost() -> None:
    file = opened(Pipe(riff(ONE_SECOND * 10, declared_bytes=0), fault=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        decoded_seconds(file)


def test_ffmpeg_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    data = encoded("mp3", "libmp3lame")
    decoded_seconds(opened(data[:3000] + noise(400) + data[3800:6000]))
    refused(noise(20_000))
    assert capfd.readouterr() == ("", "")
