import pytest

from legato.engines.cosyvoice.directory import VERSIONS
from legato.engines.cosyvoice.text import (
    ASSISTANT,
    END_OF_PROMPT,
    bounded,
    cross_lingual,
    instruction,
    readable,
    spaced,
    zero_shot_prompt,
)
from legato.errors import UnsupportedText

ONE, TWO, THREE = VERSIONS


def test_marks_for_the_eye_are_left_out() -> None:
    assert readable("**Hello** \U0001f642 [breath] world", TWO) == "Hello [breath] world"
    assert readable(" \U0001f642 ", TWO) == ""


@pytest.mark.parametrize("text", ["a <|endofprompt|> b", "<|x\ny|>", "a |> <|"])
def test_control_tokens_are_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedText, match="control tokens") as refused:
        readable(text, TWO)
    assert set(refused.value.characters) <= set(text)
    assert readable(text, TWO, control_tokens=True)


def test_a_single_mark_of_a_control_token_is_none() -> None:
    assert readable("a <| b", TWO) == "a <| b"


def test_scripts_are_those_of_the_version() -> None:
    assert readable("Привет", THREE) == "Привет"
    with pytest.raises(UnsupportedText, match="Привет") as refused:
        readable("Привет", TWO)
    assert refused.value.characters == "Привет"


def test_japanese_is_katakana_for_version_3() -> None:
    assert readable("こんにちは", THREE) == "コンニチハ"
    assert readable("こんにちは", TWO) == "こんにちは"
    with pytest.raises(UnsupportedText, match="日本"):
        readable("日本です", THREE)
    assert readable("你好", THREE) == "你好"


def test_what_has_letters_is_not_passed_over() -> None:
    with pytest.raises(UnsupportedText):
        readable("\uff9e", TWO)


def test_a_long_text_is_cut_where_a_voice_breathes() -> None:
    text = "This is a sentence, with a clause. " * 20
    parts = list(bounded(text))
    assert " ".join(parts) == text.strip()
    assert all(len(part) <= 200 and part.endswith(".") for part in parts)
    clauses = list(bounded("今天天气很好，" * 60))
    assert all(part.endswith("，") for part in clauses)
    words = list(bounded("word " * 100))
    assert all(part.endswith("word") for part in words)
    assert [len(part) for part in bounded("好" * 450)] == [200, 200, 50]
    assert list(bounded("  ")) == []


def test_an_early_end_of_a_sentence_is_no_place_to_cut() -> None:
    first, *_ = bounded(f"Yes. {'word ' * 80}")
    assert len(first) > 150


def test_a_piece_keeps_the_space_around_it() -> None:
    assert spaced(" a b\n", "a b") == " a b "
    assert spaced("a", "a") == "a"


def test_each_version_has_its_prompt() -> None:
    assert zero_shot_prompt("hi", TWO) == "hi"
    assert zero_shot_prompt("hi", THREE) == f"{ASSISTANT}{END_OF_PROMPT}hi"
    assert zero_shot_prompt(f"x{END_OF_PROMPT}hi", THREE) == f"x{END_OF_PROMPT}hi"
    assert instruction("whisper", ONE) == "whisper"
    assert instruction(f"whisper{END_OF_PROMPT}", TWO) == f"whisper{END_OF_PROMPT}"
    assert instruction("whisper", THREE) == f"{ASSISTANT} whisper{END_OF_PROMPT}"
    assert instruction(f"{ASSISTANT} whisper", THREE) == f"{ASSISTANT} whisper{END_OF_PROMPT}"
    assert cross_lingual("hi", TWO) == "hi"
    assert cross_lingual("hi", THREE) == f"{ASSISTANT}{END_OF_PROMPT}hi"
    assert cross_lingual(f"x{END_OF_PROMPT}hi", THREE) == f"x{END_OF_PROMPT}hi"
