import pytest

from legato.engines.base import EngineKind
from legato.engines.tone import ToneSynthesizer
from legato.errors import EngineUnavailable, UnknownEngine
from legato.worker.loading import make_engine


def test_a_registered_engine_is_found_by_name() -> None:
    assert isinstance(make_engine(EngineKind.SYNTHESIZE, "tone", None), ToneSynthesizer)


def test_a_class_is_found_by_its_target() -> None:
    target = "legato.engines.tone:ToneSynthesizer"
    assert isinstance(make_engine(EngineKind.SYNTHESIZE, "x", target), ToneSynthesizer)


@pytest.mark.parametrize("target", ["no.such.module:X", "legato.engines.tone:X", "os"])
def test_a_target_that_names_nothing_is_told(target: str) -> None:
    with pytest.raises(EngineUnavailable, match="not an engine's module:Class"):
        make_engine(EngineKind.SYNTHESIZE, "x", target)


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(UnknownEngine, match="nobody"):
        make_engine(EngineKind.SYNTHESIZE, "nobody", None)


def test_options_are_keyword_arguments() -> None:
    target = "legato.engines.hibari:Hibari"
    assert make_engine(EngineKind.SYNTHESIZE, "x", target, {"parallel": 3}) is not None
    with pytest.raises(EngineUnavailable, match=r"x does not take these options.*colour"):
        make_engine(EngineKind.SYNTHESIZE, "x", target, {"colour": "red"})
