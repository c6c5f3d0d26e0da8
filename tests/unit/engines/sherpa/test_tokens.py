from pathlib import Path

import pytest

from legato.engines.sherpa.tokens import confidence, hotwords, modeling_unit, table, words
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Word


def test_a_table_may_have_a_blank_as_token(tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text("_ 0\n  3\na 14\n\n", encoding="utf-8")
    assert table(path) == {"_": 0, " ": 3, "a": 14}


@pytest.mark.parametrize("content", ["", "404: not found", "a b\n"])
def test_what_is_no_table_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(EngineUnavailable, match=r"tokens\.txt"):
        table(path)


def test_pieces_make_words_that_end_where_the_next_begins() -> None:
    found = words("HELLO WORLD", ("▁HE", "LLO", " WOR", "LD"), (0.1, 0.2, 0.4, 0.5), length=1.0)
    assert found == (Word("HELLO", 0.1, 0.4), Word("WORLD", 0.4, 1.0))


def test_characters_of_unspaced_scripts_are_words() -> None:
    found = words("你好 OK吗", ("你", "好", "▁O", "K", "吗"), (0.0, 0.1, 0.2, 0.3, 0.4), length=0.5)
    assert [word.text for word in found] == ["你", "好", "OK", "吗"]


def test_punctuation_belongs_to_the_word_before() -> None:
    found = words("你，好。", ("你", "，", "好", "。"), (0.0, 0.1, 0.2, 0.3), length=0.5)
    assert [word.text for word in found] == ["你，", "好。"]


def test_a_blank_alone_begins_the_next_word() -> None:
    found = words("a b", (" ", "a", "▁", "b"), (0.0, 0.1, 0.2, 0.3), length=0.5)
    assert [(word.text, word.end) for word in found] == [("a", 0.3), ("b", 0.5)]


def test_marks_join_tokens_where_a_model_writes_them() -> None:
    tokens = ("a@@", "bc", "de", "好")
    found = words("abc de 好", tokens, (0.0, 0.1, 0.2, 0.3), length=0.5, marked=True)
    assert [word.text for word in found] == ["abc", "de", "好"]


@pytest.mark.parametrize(
    ("text", "tokens", "times"),
    [
        ("a", (), ()),
        ("a", ("a",), ()),
        ("é", ("<0xC3>", "<0xA9>"), (0.0, 0.1)),
        ("你", ("ƍĩĴ",), (0.0,)),
    ],
)
def test_no_words_are_invented(
    text: str, tokens: tuple[str, ...], times: tuple[float, ...]
) -> None:
    assert words(text, tokens, times, length=1.0) == ()


def test_confidence_is_the_mean_probability() -> None:
    assert confidence([]) is None
    assert confidence([-0.5, -1.5]) == pytest.approx(0.3679, abs=1e-4)
    assert confidence([0.1]) == 1.0


def test_units_follow_from_tokens_and_vocabulary() -> None:
    assert modeling_unit(("<blk>", "你", "▁A"), vocabulary=True) == "cjkchar+bpe"
    assert modeling_unit(("<blk>", "▁A", "B"), vocabulary=True) == "bpe"
    assert modeling_unit(("<blk>", "你", "▁A"), vocabulary=False) == "cjkchar"
    assert modeling_unit(("<blk>", "▁A", "B"), vocabulary=False) == ""


def test_hotwords_are_written_as_the_tokens_are() -> None:
    tokens = ("<blk>", "▁HE", "LLO", "▁", "W", "你", "好")
    assert hotwords(("hello", "你好"), tokens, "cjkchar+bpe") == "HELLO/你好"
    assert hotwords(("he/llo :2.0 "[:6],), tokens, "bpe") == "HE LLO"
    assert hotwords((), tokens, "bpe") == ""
    assert hotwords(("Hi",), ("▁hi",), "bpe") == "hi"


@pytest.mark.parametrize("word", ["你们", "ok", "/:"])
def test_a_hotword_that_would_be_left_out_is_refused(word: str) -> None:
    with pytest.raises(UnsupportedOption, match="hotword"):
        hotwords((word,), ("<blk>", "▁HELLO", "你", "好"), "cjkchar")
