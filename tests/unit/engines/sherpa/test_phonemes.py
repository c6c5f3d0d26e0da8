import pytest

from legato.engines import espeak
from legato.engines.sherpa.phonemes import phonemes

KNOWN = set("_^$ ,.!?;:abcdefghijklmnopqrstuvwxyzəɛʊ\u0327")


def same(text: str) -> str:
    return text.lower()


def test_marks_of_the_sentence_stay() -> None:
    assert phonemes("Well, then: go!", same, KNOWN) == "well, then: go!"
    assert phonemes("你好，再见。", lambda _clause: "ni", KNOWN) == "ni, ni."


def test_a_point_inside_a_word_is_no_end() -> None:
    assert phonemes("a.b c", same, KNOWN) == "a.b c"


def test_what_the_model_does_not_know_is_taken_apart_or_left_out() -> None:
    assert phonemes("x", lambda _clause: "(en)ça(fr) ʘ", KNOWN) == "c\u0327a"


@pytest.mark.requires("espeak-ng")
def test_espeak_gives_the_sounds() -> None:
    library = espeak.library()
    found = phonemes(
        "Hello, world.", lambda part: library.phonemes(part, voice="en-us"), KNOWN | set("ˈˌoɜː")
    )
    assert found == "həlˈoʊ, wˈɜːld."
