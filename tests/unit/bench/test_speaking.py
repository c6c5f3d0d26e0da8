import pytest

from legato.bench.speaking import SENTENCES


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_has_21_words(sentence: str) -> None:
    assert len(sentence.split()) == 21
