from pathlib import Path

import numpy as np
import pytest

from legato.engines.upstream import recording
from legato.errors import EngineUnavailable
from tests.unit.engines.upstream import stage


@pytest.mark.parametrize("rate_hz", [16_000, 24_000, 44_100])
def test_a_recording_becomes_16_khz_samples(rate_hz: int, tmp_path: Path) -> None:
    path = stage.recording(tmp_path / "a.wav", seconds=2.0, rate_hz=rate_hz)
    samples = np.frombuffer(recording.samples(path), "<i2")
    assert len(samples) == pytest.approx(32_000, abs=20)
    assert samples.max() == pytest.approx(8_000, rel=0.02)
    floats = np.frombuffer(recording.floats(path), "<f4")
    assert np.array_equal(floats * 32_768, samples)


def test_what_is_no_recording_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_text("hello")
    with pytest.raises(EngineUnavailable, match="no audio"):
        recording.samples(str(file))
