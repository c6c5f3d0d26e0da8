import pytest

from legato.engines.upstream.text import readable
from legato.errors import UnsupportedText


def test_markdown_and_emoji_are_left_out() -> None:
    assert readable("lark", "# **Hi** \U0001f44b [there](http://x)") == "Hi there"


def test_there_may_be_nothing_to_say() -> None:
    assert readable("lark", " \n… ") == ""


def test_letters_are_never_passed_over() -> None:
    with pytest.raises(UnsupportedText):
        readable("lark", "a\U0003fff0")
