import numpy as np

from legato.engines.sherpa.writers import Variants, tail


def test_copies_are_loaded_once_and_the_oldest_goes() -> None:
    loaded: list[str] = []

    def load(key: str) -> object:
        loaded.append(key)
        return object()

    variants = Variants(load, 2)
    first = variants.get("a")
    assert variants.get("a") is first
    variants.get("b")
    variants.get("a")
    variants.get("c")
    assert variants.get("a") is first
    variants.get("b")
    assert loaded == ["a", "b", "c", "b"]


def test_the_silence_at_the_end_fills_a_chunk_of_the_model() -> None:
    assert len(tail({"T": "45"})) == round(0.55 * 16_000)
    assert len(tail({})) == round(0.71 * 16_000)
    assert not np.any(tail({}))
