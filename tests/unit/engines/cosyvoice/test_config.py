import pytest

from legato.engines.cosyvoice.config import Config, Mode, configured
from legato.errors import EngineUnavailable


def test_nothing_is_needed_to_be_listed() -> None:
    assert configured({}) == Config()


def test_options_are_those_of_a_settings_file() -> None:
    config = configured(
        {
            "model_dir": "m",
            "mode": "cross_lingual",
            "models": 2,
            "prompts": [{"name": "anna", "wav": "anna.wav", "languages": ["zh-CN"]}],
        }
    )
    assert config.mode is Mode.CROSS_LINGUAL
    assert config.prompts[0].languages == ("zh-CN",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "m"}, "unknown field `model`"),
        ({"models": 0}, r">= 1.*models"),
        ({"mode": "singing"}, "singing.*mode"),
        ({"prompts": [{"name": "x"}]}, "missing required field `wav`"),
        ({"parallel": 2}, r"parallel > 1 needs vllm or trt.*Raise models"),
        ({"mode": "instruct", "instruct_text": " "}, "needs instruct_text"),
        ({"prompts": [{"name": "x", "wav": "a"}] * 2}, "same name"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(EngineUnavailable, match=said):
        configured(options)


def test_several_streams_on_a_model_that_can() -> None:
    assert configured({"parallel": 4, "vllm": True}).parallel == 4
