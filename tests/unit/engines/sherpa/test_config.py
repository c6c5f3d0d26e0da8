import pytest

from legato.engines.sherpa.config import RecognizerConfig, SynthesizerConfig, configured
from legato.errors import EngineUnavailable


def test_options_have_defaults() -> None:
    assert configured({}, RecognizerConfig) == RecognizerConfig()
    assert configured({"parallel": 3}, SynthesizerConfig).parallel == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"modeldir": "x"}, "modeldir"),
        ({"threads": 0}, "threads"),
        ({"provider": "tpu"}, "provider"),
        ({"precision": "int4"}, "precision"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(EngineUnavailable, match=said):
        configured(options, RecognizerConfig)
