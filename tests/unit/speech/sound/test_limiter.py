import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.speech.sound.edges import Samples
from legato.speech.sound.limiter import BLOCK, CEILING, RELEASE, Limiter

FORM = AudioFormat(48_000)


def limited(audio: Samples, gain_db: float, *, size: int = 960) -> Samples:
    limiter = Limiter(FORM, gain_db=gain_db)
    pieces = [limiter.push(audio[at : at + size]) for at in range(0, len(audio), size)]
    return np.concatenate([*pieces, limiter.end()])


def sine(level: float, *, hz: float = 200.0, seconds: float = 0.5, phase: float = 0.0) -> Samples:
    at = np.arange(FORM.samples(seconds)) / FORM.sample_rate
    wave = level * 32767 * np.sin(2 * np.pi * hz * at + phase)
    return np.rint(wave).astype(np.int16)[:, None]


def test_without_a_gain_nothing_is_touched_or_held_back() -> None:
    audio = sine(1.0)
    limiter = Limiter(FORM, gain_db=0)
    assert limiter.push(audio) is audio
    assert len(limiter.end()) == 0


@pytest.mark.parametrize("gain_db", [-6.0, 3.0, 6.0])
def test_speech_is_raised_or_lowered_by_so_much(gain_db: float) -> None:
    audio = sine(0.1)
    out = limited(audio, gain_db)
    assert np.abs(out - audio * 10 ** (gain_db / 20)).max() <= 0.5


def test_what_is_lowered_is_not_held_back() -> None:
    audio = sine(1.0)
    limiter = Limiter(FORM, gain_db=-3)
    assert len(limiter.push(audio)) == len(audio)
    assert len(limiter.end()) == 0


@pytest.mark.parametrize("length", [0, 1, 239, 240, 241, 480, 500, 5_000])
def test_nothing_is_lost_or_added(length: int) -> None:
    assert len(limited(sine(1.0)[:length], 6.0)) == length


def test_not_more_than_10_ms_are_held_back() -> None:
    limiter = Limiter(FORM, gain_db=6)
    audio, taken, given = sine(0.9), 0, 0
    for at in range(0, len(audio), 101):
        taken += len(audio[at : at + 101])
        given += len(limiter.push(audio[at : at + 101]))
        assert taken - given < 2 * FORM.samples(BLOCK)


def test_peaks_stay_below_the_ceiling_and_keep_their_shape() -> None:
    out = limited(sine(0.9), 6.0)
    assert np.abs(out).max() <= CEILING * 32768
    steady = out[FORM.samples(0.1) : -FORM.samples(0.1), 0] / 32768
    assert np.abs(steady).max() > 0.95 * CEILING
    spectrum = np.abs(np.fft.rfft(steady * np.hanning(len(steady))))
    tone = np.argmax(spectrum)
    others = np.delete(spectrum, np.arange(tone - 5, tone + 6))
    assert others.max() < spectrum[tone] * 10 ** (-40 / 20)


def test_a_peak_between_two_samples_is_seen() -> None:
    # At a quarter of the rate, 45 degrees off, samples show 3 dB less than there is.
    hidden = sine(0.9, hz=12_000, phase=np.pi / 4)
    seen = limited(hidden, 1.0)
    steady = seen[FORM.samples(0.05) : -FORM.samples(0.05)]
    assert np.abs(steady).max() <= CEILING * 32768 / np.sqrt(2) * 1.02


def test_the_gain_comes_back_after_a_peak() -> None:
    audio = np.concatenate((sine(0.2), sine(1.0, seconds=0.02), sine(0.2, seconds=1.0)))
    out = limited(audio, 6.0)
    behind = FORM.samples(0.52 + RELEASE + 0.1)
    assert np.abs(out[behind:] - audio[behind:] * 10 ** (6 / 20)).max() <= 1
    right_behind = slice(FORM.samples(0.53), FORM.samples(0.55))
    assert np.abs(out[right_behind]).max() < np.abs(audio[right_behind]).max() * 10 ** (6 / 20)


def test_nothing_jumps_where_the_gain_changes() -> None:
    audio = np.concatenate((sine(0.4), sine(1.0, seconds=0.1), sine(0.4)))
    out = limited(audio, 6.0).astype(float)[:, 0]
    steepest = 32768 * CEILING * 2 * np.pi * 200 / FORM.sample_rate
    assert np.abs(np.diff(out)).max() <= 1.2 * steepest
