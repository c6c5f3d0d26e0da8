import math

import numpy as np
import pytest

from legato.audio import AudioFormat, to_int16
from legato.errors import BadAudio
from legato.speech.sound.loudness import LEAST_DB, MOST_DB, TARGET_LUFS, gain_db, loudness

STEREO = AudioFormat(48_000, 2)


def sine(dbfs: float, form: AudioFormat, *, seconds: float = 3.0, hz: float = 1000.0) -> bytes:
    at = np.arange(form.samples(seconds)) / form.sample_rate
    wave = 10 ** (dbfs / 20) * np.sin(2 * math.pi * hz * at)
    return to_int16(np.repeat(wave, form.channels)).astype("<i2").tobytes()


@pytest.mark.parametrize("dbfs", [-23.0, -33.0])
def test_a_sine_in_two_channels_is_as_loud_as_ebu_tech_3341_says(dbfs: float) -> None:
    assert loudness(sine(dbfs, STEREO), STEREO) == pytest.approx(dbfs, abs=0.1)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 48_000])
def test_every_sample_rate_measures_the_same(rate: int) -> None:
    mono = AudioFormat(rate)
    assert loudness(sine(-20, mono), mono) == pytest.approx(-23.0, abs=0.1)


def test_what_is_low_counts_less_and_what_is_high_more() -> None:
    mono = AudioFormat(48_000)
    low, middle, high = (loudness(sine(-20, mono, hz=hz), mono) for hz in (50, 1000, 8000))
    assert low < middle - 2
    assert high > middle + 2


def test_pauses_do_not_count() -> None:
    mono = AudioFormat(16_000)
    speech = sine(-20, mono)
    assert loudness(speech + bytes(320_000), mono) == pytest.approx(loudness(speech, mono), abs=0.6)
    quiet = sine(-45, mono, seconds=20)
    assert loudness(speech + quiet, mono) == pytest.approx(loudness(speech, mono), abs=0.6)


def test_a_short_sound_is_measured_as_one_block() -> None:
    mono = AudioFormat(16_000)
    assert loudness(sine(-20, mono, seconds=0.2), mono) == pytest.approx(-23.0, abs=0.3)


@pytest.mark.parametrize("pcm", [b"", bytes(1_000), bytes(100_000)])
def test_silence_has_no_loudness(pcm: bytes) -> None:
    assert loudness(pcm, AudioFormat(16_000)) == -math.inf


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(BadAudio):
        loudness(b"abc", AudioFormat(16_000))


@pytest.mark.parametrize(
    ("lufs", "gain"),
    [
        (None, 0),
        (-math.inf, 0),
        (TARGET_LUFS, 0),
        (TARGET_LUFS + 0.4, 0),
        (TARGET_LUFS - 3.2, 3),
        (TARGET_LUFS + 7.6, -8),
        (-60.0, MOST_DB),
        (0.0, LEAST_DB),
    ],
)
def test_a_voice_is_brought_to_the_target_within_bounds(lufs: float | None, gain: float) -> None:
    assert gain_db(lufs) == gain
