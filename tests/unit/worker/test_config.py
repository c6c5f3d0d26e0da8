import pytest

from legato.worker.config import WorkerConfig


@pytest.mark.parametrize("lufs", [-70.5, 0.1, 19.5, float("nan")])
def test_a_loudness_that_no_speech_has_is_refused_by_the_name_of_its_voice(lufs: float) -> None:
    with pytest.raises(ValueError, match="loudness of 'e/anna' must be -70 to 0 LUFS"):
        WorkerConfig(loudness={"e": -20.0, "e/anna": lufs})


def test_a_loudness_that_speech_has_is_taken() -> None:
    assert WorkerConfig(loudness={"e": -70.0, "e/anna": 0.0}).loudness["e"] == -70.0
