import numpy as np
import pytest

from legato.engines.cosyvoice.tempo import Tempo

RATE_HZ = 24_000
AUDIO = (0.5 * np.sin(2 * np.pi * 220 * np.arange(2 * RATE_HZ) / RATE_HZ)).astype(np.float32)


def stretched(speed: float, step: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    tempo = Tempo(speed, RATE_HZ)
    parts = [tempo.push(AUDIO[i : i + step]) for i in range(0, len(AUDIO), step)]
    return np.concatenate([*parts, tempo.flush()])


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.25, 2.0])
def test_length_changes_and_pitch_and_level_do_not(speed: float) -> None:
    audio = stretched(speed, 2_400)
    assert len(audio) == pytest.approx(len(AUDIO) / speed, rel=0.01)
    assert audio.std() == pytest.approx(AUDIO.std(), rel=0.04)
    spectrum = np.abs(np.fft.rfft(audio))
    assert np.argmax(spectrum) * RATE_HZ / len(audio) == pytest.approx(220, abs=2)
    assert np.abs(np.diff(audio)).max() < 1.1 * np.abs(np.diff(AUDIO)).max()


def test_how_audio_is_cut_makes_no_difference() -> None:
    assert np.array_equal(stretched(1.3, 2_400), stretched(1.3, 777))


def test_the_first_second_comes_out_at_once() -> None:
    assert len(Tempo(1.0, RATE_HZ).push(AUDIO[:RATE_HZ])) > 0.85 * RATE_HZ


def test_nothing_in_is_nothing_out() -> None:
    tempo = Tempo(1.5, RATE_HZ)
    assert len(tempo.push(AUDIO[:0])) == 0
    assert len(tempo.flush()) == 0
