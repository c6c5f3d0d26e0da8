import numpy as np
import pytest

from legato.engines.clauses import parts, settled


def cut(text: str, longest: int = 40) -> list[tuple[str, float | None]]:
    return [("".join(part.phonemes), part.pause) for part in parts(list(text), longest=longest)]


def test_the_first_part_ends_with_the_first_clause() -> None:
    assert cut("in the morning, the lark sings.") == [
        ("in the morning,", 0.15),
        (" the lark sings.", None),
    ]


def test_a_first_clause_of_a_word_goes_with_the_next() -> None:
    assert cut("well, then, the lark sings.")[0] == ("well, then,", 0.15)


def test_later_parts_are_as_long_as_they_may_be() -> None:
    text = "the lark sings, " + "and one, two, three, four, five, six, seven larks more."
    assert [part for part, _ in cut(text)] == [
        "the lark sings,",
        " and one, two, three, four, five, six,",
        " seven larks more.",
    ]


def test_without_punctuation_a_part_ends_with_a_word() -> None:
    made = cut("word " * 20, longest=33)
    assert all(part.endswith("word ") for part, _ in made)
    assert {pause for _, pause in made[:-1]} == {0.03}
    assert max(len(part) for part, _ in made) <= 33


def test_a_word_too_long_is_cut_anywhere() -> None:
    assert [len(part) for part, _ in cut("a" * 100)] == [40, 40, 20]


def test_joined_again_they_are_the_sentence() -> None:
    text = 'so "he said, she said": this; that - and 3,5 too! ' * 5
    assert "".join(part for part, _ in cut(text)).rstrip() == text.rstrip()


def test_closing_marks_go_with_their_clause() -> None:
    assert cut('he calls out "no!", and she goes.')[0] == ('he calls out "no!",', 0.15)


def test_no_phonemes_are_no_parts() -> None:
    assert cut("") == []
    assert cut("   ") == []


RATE_HZ = 1_000


def hum(sounding: int, silent: int) -> np.ndarray:
    return np.concatenate([np.full(sounding, 0.5), np.zeros(silent)]).astype(np.float32)


@pytest.mark.parametrize(("silent", "kept"), [(400, 550), (50, 450)])
def test_silence_after_a_part_is_cut(silent: int, kept: int) -> None:
    assert len(settled(hum(400, silent), 0.15, RATE_HZ)) == kept


def test_the_cut_does_not_click() -> None:
    audio = settled(np.concatenate([hum(400, 0), np.full(300, 0.002, np.float32)]), 0.1, RATE_HZ)
    assert audio[-1] == 0
    assert audio[399] == 0.5


def test_the_silence_after_a_sentence_is_left() -> None:
    audio = hum(100, 400)
    assert settled(audio, None, RATE_HZ) is audio


def test_a_part_that_is_all_silence_is_a_pause() -> None:
    assert len(settled(hum(0, 900), 0.15, RATE_HZ)) == 150
