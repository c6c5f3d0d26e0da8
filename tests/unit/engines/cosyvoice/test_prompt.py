from pathlib import Path

import pytest

from legato.engines.cosyvoice.config import Prompt
from legato.engines.cosyvoice.prompt import check
from legato.errors import EngineUnavailable
from tests.unit.engines.cosyvoice.stage import prompt_wav


def test_a_recording_that_serves_is_taken(tmp_path: Path) -> None:
    check(Prompt(name="anna", wav=prompt_wav(tmp_path)))


@pytest.mark.parametrize(
    ("rate_hz", "seconds", "said"),
    [
        (8_000, 3.0, "8000 Hz.*at least 16000 Hz"),
        (16_000, 0.5, r"0\.5 s long.*between 1 and 30 s"),
        (16_000, 40.0, "between 1 and 30 s"),
        (16_000, 0.0, "holds no audio|between 1 and 30 s"),
    ],
)
def test_what_cosyvoice_would_assert_is_said(
    tmp_path: Path, rate_hz: int, seconds: float, said: str
) -> None:
    with pytest.raises(EngineUnavailable, match=said):
        check(Prompt(name="anna", wav=prompt_wav(tmp_path, rate_hz=rate_hz, seconds=seconds)))


def test_a_file_must_be_there_and_hold_audio(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="there is no file"):
        check(Prompt(name="anna", wav=str(tmp_path / "none.wav")))
    text = tmp_path / "text.wav"
    text.write_text("hello", encoding="utf-8")
    with pytest.raises(EngineUnavailable, match="no audio that can be read"):
        check(Prompt(name="anna", wav=str(text)))
