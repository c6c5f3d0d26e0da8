import math

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat
from legato.errors import BadAudio
from legato.speech.prompts import Measure, check, check_rate, measure

FORM = AudioFormat(24_000)
GOOD = Measure(seconds=8.0, level_dbfs=-20.0, clipped=0.0, silent=0.3)


def tone(seconds: float, level: float = 0.1, rate_hz: int = 24_000) -> NDArray[np.float64]:
    """A sine of an RMS level."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return level * math.sqrt(2) * np.sin(2 * np.pi * 220 * at)


def pcm(*parts: NDArray[np.float64]) -> bytes:
    scaled = np.concatenate(parts) * 32_768
    return np.clip(np.rint(scaled), -32_768, 32_767).astype("<i2").tobytes()


def silence(seconds: float) -> NDArray[np.float64]:
    return np.zeros(round(seconds * 24_000))


def test_length_and_level_are_measured() -> None:
    found = measure(pcm(tone(5.0)), FORM)
    assert found.seconds == 5.0
    assert found.level_dbfs == pytest.approx(-20.0, abs=0.1)
    assert (found.clipped, found.silent) == (0.0, 0.0)


def test_the_level_is_that_of_what_is_spoken() -> None:
    found = measure(pcm(tone(3.0), silence(2.0), tone(0.5, 0.0005), tone(2.5)), FORM)
    assert found.level_dbfs == pytest.approx(-20.0, abs=0.1)
    assert found.silent == pytest.approx(2.5 / 8.0, abs=0.01)


def test_noise_far_below_speech_is_a_pause() -> None:
    found = measure(pcm(tone(4.0), tone(4.0, 0.1 * 10 ** (-40 / 20))), FORM)
    assert found.silent == pytest.approx(0.5, abs=0.01)


def test_quiet_speech_that_is_even_is_no_pause() -> None:
    found = measure(pcm(tone(4.0, 0.005)), FORM)
    assert found.level_dbfs == pytest.approx(-46.0, abs=0.2)
    assert found.silent == 0.0


@pytest.mark.parametrize(("level", "clipped"), [(0.7, False), (1.4, True)])
def test_samples_at_the_end_of_the_scale_are_counted(level: float, clipped: bool) -> None:
    found = measure(pcm(tone(4.0, level)), FORM)
    assert (found.clipped > 0.001) is clipped


def test_both_channels_are_looked_at() -> None:
    loud, quiet = tone(4.0, 1.4), tone(4.0)
    both = pcm(np.stack([quiet, loud], axis=1).reshape(-1))
    found = measure(both, AudioFormat(24_000, 2))
    assert found.seconds == 4.0
    assert found.clipped > 0.1


@pytest.mark.parametrize("nothing", [b"", bytes(2), bytes(48_000)])
def test_silence_has_no_level(nothing: bytes) -> None:
    found = measure(nothing, FORM)
    assert found.level_dbfs == -math.inf
    assert found.silent == 1.0
    assert found.clipped == 0.0


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(BadAudio, match="not whole samples"):
        measure(b"abc", FORM)


def changed(**more: float) -> Measure:
    return Measure(
        seconds=more.get("seconds", GOOD.seconds),
        level_dbfs=more.get("level_dbfs", GOOD.level_dbfs),
        clipped=more.get("clipped", GOOD.clipped),
        silent=more.get("silent", GOOD.silent),
    )


@pytest.mark.parametrize(
    "found",
    [
        GOOD,
        changed(seconds=3.0),
        changed(seconds=30.0),
        changed(clipped=0.001),
        changed(silent=0.6),
        changed(level_dbfs=-40.0),
    ],
)
def test_what_is_within_bounds_will_do(found: Measure) -> None:
    check(found)


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (changed(seconds=2.9), "2.9 s long.*record more"),
        (changed(seconds=30.1), "longer than 30 s; cut it"),
        (changed(level_dbfs=-math.inf, silent=1.0), "silent; see whether the microphone"),
        (changed(clipped=0.002), "clipped: 0.2%.*less gain"),
        (changed(silent=0.61), "61% of the recording is silence.*cut it"),
        (changed(level_dbfs=-41.0), "too quiet: speech has -41 dBFS.*closer"),
    ],
)
def test_what_will_not_do_is_told_with_the_way_out(found: Measure, cause: str) -> None:
    with pytest.raises(BadAudio, match=cause):
        check(found)


def test_a_low_rate_is_refused() -> None:
    check_rate(16_000)
    with pytest.raises(BadAudio, match="8000 Hz; record at 16000 Hz or more"):
        check_rate(8_000)
