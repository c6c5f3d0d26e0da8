import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.bench.alignment import word_errors, words_of

words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Dashwood had then leisure.", ["mister", "dashwood", "had", "then", "leisure"]),
        ("an ill-disposed man", ["an", "ill", "disposed", "man"]),
        ("Don’t - STOP!", ["don't", "stop"]),
        ("2 men, 31 years", ["two", "men", "31", "years"]),
        ("0 07 12 13", ["zero", "seven", "twelve", "13"]),
        ("  … ", []),
    ],
)
def test_words_are_what_a_listener_counts(text: str, expected: list[str]) -> None:
    assert words_of(text) == expected


@pytest.mark.parametrize(
    ("said", "heard", "errors"),
    [
        ("a b c", "a b c", []),
        ("a b c", "a x c", ["x for b"]),
        ("a b c", "a c", ["missing b"]),
        ("a c", "a b c", ["extra b"]),
        ("a b", "", ["missing a", "missing b"]),
        ("", "a", ["extra a"]),
        ("he was not ill", "she was ill now", ["she for he", "missing not", "extra now"]),
    ],
)
def test_each_error_is_listed_in_order(said: str, heard: str, errors: list[str]) -> None:
    assert word_errors(said.split(), heard.split()) == errors


@given(said=words.filter(bool), heard=words)
def test_there_are_as_many_errors_as_jiwer_finds(said: list[str], heard: list[str]) -> None:
    found = jiwer.process_words(" ".join(said), " ".join(heard))
    expected = found.substitutions + found.insertions + found.deletions
    assert len(word_errors(said, heard)) == expected
