import pytest

from legato.engines.upstream.body import told


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('{"error":{"message":"no such voice"}}', "no such voice"),
        ('{"detail":"Not Found"}', "Not Found"),
        ('{"message":"later"}', "later"),
        ('{"detail":[1]}', '{"detail":[1]}'),
        ("plain words", "plain words"),
    ],
)
def test_the_sentence_of_an_error_is_found(said: str, sentence: str) -> None:
    assert told(said) == sentence
