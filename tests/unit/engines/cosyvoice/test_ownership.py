from types import SimpleNamespace

from legato.engines.cosyvoice.ownership import keep_voices, own_chunk_length
from legato.engines.cosyvoice.run import Run


class Model:
    def __init__(self) -> None:
        self.token_hop_len = 25

    def grow(self) -> None:
        self.token_hop_len *= 2


def test_each_request_has_its_chunk_length() -> None:
    model = Model()
    assert own_chunk_length(model)
    one, other = Run(model, 10), Run(model, 25)
    with one.entered():
        model.grow()
    with other.entered():
        assert model.token_hop_len == 25
    with one.entered():
        assert model.token_hop_len == 20
    assert model.token_hop_len == 25
    model.grow()
    assert model.token_hop_len == 50


def test_the_class_keeps_its_name() -> None:
    """CosyVoice tells its versions apart by it."""
    model = Model()
    own_chunk_length(model)
    assert isinstance(model, Model)
    assert type(model).__name__ == "Model"
    assert type(model).__module__ == Model.__module__


def test_owning_twice_is_owning_once() -> None:
    model = Model()
    own_chunk_length(model)
    kind = type(model)
    assert own_chunk_length(model)
    assert type(model) is kind


def test_a_model_without_a_shared_length_is_left() -> None:
    model = SimpleNamespace()
    assert not own_chunk_length(model)
    assert type(model) is SimpleNamespace


def test_a_request_changes_a_copy_of_what_is_known_of_a_voice() -> None:
    cosyvoice = SimpleNamespace(frontend=SimpleNamespace(spk2info={"a": {"x": 1}, "b": "plain"}))
    assert keep_voices(cosyvoice)
    known = cosyvoice.frontend.spk2info
    del known["a"]["x"]
    assert known["a"] == {"x": 1}
    assert known["b"] == "plain"
    assert list(known) == ["a", "b"]
    assert keep_voices(cosyvoice)
    assert cosyvoice.frontend.spk2info is known


def test_a_cosyvoice_that_keeps_voices_elsewhere_is_left() -> None:
    assert not keep_voices(SimpleNamespace())
    assert not keep_voices(SimpleNamespace(frontend=SimpleNamespace(spk2info=[])))
