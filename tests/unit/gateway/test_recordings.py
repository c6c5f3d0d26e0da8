import io
from itertools import count

import av
import numpy as np
import pytest

from legato.errors import BadAudio
from legato.gateway.recordings import read_recording
from tests.unit.gateway.recordings import coded, speech, wav


def test_a_recording_is_kept_as_it_is() -> None:
    samples = speech()
    recording = read_recording(wav(samples))
    assert recording.pcm == samples.tobytes()
    assert recording.seconds == 5.0


@pytest.mark.parametrize(
    ("container", "codec", "rate_hz"),
    [
        ("ogg", "libopus", 48_000),
        ("mp3", "libmp3lame", 44_100),
        ("mp4", "aac", 44_100),
        ("flac", "flac", 16_000),
        ("webm", "libopus", 48_000),
    ],
)
def test_any_container_is_read(container: str, codec: str, rate_hz: int) -> None:
    file = coded(speech(rate_hz=rate_hz), container, codec, rate_hz)
    recording = read_recording(file)
    assert recording.seconds == pytest.approx(5.0, abs=0.1)
    samples = np.frombuffer(recording.pcm, "<i2").astype(np.float64)
    assert np.sqrt(np.mean(samples**2)) / 32_768 == pytest.approx(0.1, rel=0.1)


def test_stereo_becomes_one_channel_at_24_khz() -> None:
    recording = read_recording(wav(speech(rate_hz=48_000, channels=2), 48_000))
    assert len(recording.pcm) == 2 * 24_000 * 5


@pytest.mark.parametrize("seconds", [30.0, 30.05])
def test_what_a_codec_puts_at_the_end_is_cut_off(seconds: float) -> None:
    recording = read_recording(wav(speech(seconds)))
    assert recording.seconds == 30.0
    assert len(recording.pcm) <= 1_500_000


REFUSED = {
    "too short": (wav(speech(2.0)), "2.0 s long"),
    "too long": (wav(speech(31.5)), "longer than 30 s"),
    "a telephone": (wav(speech(rate_hz=8_000), 8_000), "8000 Hz"),
    "clipped": (wav(speech(level=1.5)), "clipped"),
    "silent": (wav(np.zeros((120_000, 1), "<i2")), "silent"),
    "mostly silent": (
        wav(np.concatenate([speech(2.0), np.zeros((120_000, 1), "<i2")])),
        "is silence",
    ),
    "too quiet": (wav(speech(level=0.004)), "too quiet"),
    "cut off": (wav(speech(8.0))[:-150_000], "cut off.*record or convert"),
    "no audio": (b"hello there" * 1_000, "is text, not audio"),
    "noise": (bytes(range(256)) * 40, "not audio that FFmpeg can read"),
    "a picture": (
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        "no audio|not audio|has no audio track",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_will_not_do_is_refused_with_its_cause(name: str) -> None:
    file, cause = REFUSED[name]
    with pytest.raises(BadAudio, match=cause):
        read_recording(file)


def test_a_small_file_that_unpacks_to_hours_is_cut_off_soon() -> None:
    hours = io.BytesIO()
    with av.open(hours, "w", format="flac") as file:
        stream = file.add_stream("flac", rate=16_000, layout="mono")
        assert stream.codec_context is not None
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 65_535), "<i2"), "s16", "mono")
        frame.sample_rate = 16_000
        stream.codec_context.options = {"frame_size": "65535"}
        for _ in range(1_800):
            for packet in stream.encode(frame):
                file.mux(packet)
        for packet in stream.encode(None):
            file.mux(packet)
    bomb = hours.getvalue()
    assert len(bomb) < 400_000
    ticks = count()
    with pytest.raises(BadAudio, match="longer than 30 s"):
        read_recording(bomb, clock=lambda: next(ticks) * 0.001)
    assert next(ticks) < 400  # one look for each 0.1 s that was decoded


def test_a_decoder_that_takes_too_long_is_given_up() -> None:
    ticks = count()
    with pytest.raises(BadAudio, match=r"not decoded after 10 s; send it as WAV"):
        read_recording(wav(speech()), clock=lambda: float(next(ticks)))
