from pathlib import Path

import pytest

from legato.engines.sherpa.lexicon import Lexicon, words_of
from legato.errors import UnsupportedText

LETTERS = set("abcdefghijklmnopqrstuvwxyz")
LEXICON = Lexicon({"hello", "it's", "rock", "roll", "你好", "们", "一", "二", "cafe", *LETTERS})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello, Hello!", "hello, hello!"),
        ("It’s it's", "it's it's"),
        ("rock'roll", "rock roll"),
        ("café", "cafe"),
        ("Łódź", " l o d z "),
        ("你好们", "你好们"),
        ("好", "好"),  # as part of a word of the lexicon
        ("xyzzy", " x y z z y "),
        ("don't", " d o n t "),
        ("— ...", "— ..."),
        ("二。", "二。"),
        ("你好Hello们", "你好hello们"),
    ],
)
def test_what_is_not_in_the_lexicon_is_spelt(text: str, said: str) -> None:
    assert LEXICON.respelt(text) == said


def test_numbers_are_read_out_where_no_rule_does() -> None:
    assert LEXICON.respelt("12") == " t w e l v e "
    assert Lexicon({"你"}, digits=True).respelt("你12") == "你12"
    assert LEXICON.respelt("½") == " o n e   h a l f "


@pytest.mark.parametrize(("text", "lost"), [("世界你好", "世界"), ("ไทย", "ไทย"), ("你١", "一")])
def test_what_cannot_be_said_is_refused_by_name(text: str, lost: str) -> None:
    with pytest.raises(UnsupportedText) as raised:
        Lexicon({"你好", "你"}).respelt(text)
    assert set(lost) <= set(raised.value.characters)


def test_characters_stand_for_themselves_where_a_model_takes_them() -> None:
    alphabet = Lexicon(set("abcdehlo 你"), letters=True)
    assert alphabet.respelt("Hello") == "hello"
    with pytest.raises(UnsupportedText):
        alphabet.respelt("好")


def test_words_are_the_first_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.txt"
    path.write_text("Hello h e\n你好 n i\n\nthe end :: t e\n", encoding="utf-8")
    assert words_of([path]) == {"hello", "你好", "the"}
