import re

import pytest

from legato.speech.reading.addresses import ADDRESS, address
from legato.speech.reading.english_numerals import digits


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("https://example.com/", "en", "example dot com"),
        ("https://example.com/a_b.", "en", "example dot com slash a underscore b."),
        ("www.example.com", "en", "w w w dot example dot com"),
        ("me@example.com", "zh", "me艾特example点com"),
        ("http://a.io:80/?q=1", "en",
         "a dot io colon eight zero slash question mark q equals one"),
        ("https://a.io/²", "en", "a dot io slash ²"),
        ("https://a.io/!x", "en", "a dot io slash ! x"),
    ],
)  # fmt: skip
def test_an_address_is_read_part_by_part(text: str, language: str, words: str) -> None:
    assert address(text, language, digits) == words


@pytest.mark.parametrize("text", ["Mr.Smith", "end.Next", "a@b", "3.5", "e.g", "node.js"])
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert re.search(ADDRESS, text, re.ASCII | re.IGNORECASE) is None


def test_an_address_ends_before_chinese() -> None:
    found = re.search(ADDRESS, "看https://a.cn/b，好", re.ASCII)
    assert found is not None
    assert found[0] == "https://a.cn/b"
