"""Web and mail addresses, part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

URL: Final = (
    r"(?:https?|ftp|wss?)://[^\s\u3000-\u303f\u3400-\u9fff\uff00-\uffef<>\"]+"
    r"|(?<![\w.])www\.[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:/[\w./?=&%#~+-]*)?"
)
MAIL: Final = r"(?<![\w.+-])[\w.+-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+"
HOST: Final = (
    r"(?<![\w.@-])[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*"
    r"\.(?:com|org|net|io|dev|cn|edu|gov|ai)(?![\w-])(?:/[\w./?=&%#~+-]*)?"
)
ADDRESS: Final = f"{URL}|{MAIL}|{HOST}"
"""Pattern of any of them, for ASCII letters in any case."""

_ENGLISH_SIGNS: Final = {
    ".": "dot", "/": "slash", "@": "at", "-": "dash", "_": "underscore", ":": "colon", "&": "and",
    "=": "equals", "?": "question mark", "#": "hash", "%": "percent", "+": "plus", "~": "tilde",
}  # fmt: skip
_CHINESE_SIGNS: Final = {
    ".": "点", "/": "斜杠", "@": "艾特", "-": "杠", "_": "下划线", ":": "冒号", "&": "和",
    "=": "等于", "?": "问号", "#": "井号", "%": "百分号", "+": "加", "~": "波浪号",
}  # fmt: skip
SIGNS: Final[Mapping[str, Mapping[str, str]]] = {"en": _ENGLISH_SIGNS, "zh": _CHINESE_SIGNS}
_TRAILING: Final = ".,;:!?)]}'\"/"
_PARTS: Final = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")


def address(text: str, language: str, digits: Callable[[str], str]) -> str:
    """Read an address without its scheme, with the marks at its end as they are.

    Args:
        text: What one of the patterns matched.
        language: "en" or "zh".
        digits: Reads a number digit by digit.
    """
    bare = text.rstrip(_TRAILING)
    tail = text[len(bare) :].lstrip("/")
    bare = re.sub(r"^[a-z]+://", "", bare, flags=re.IGNORECASE)
    signs, between = SIGNS[language], " " if language == "en" else ""
    words: list[str] = []
    for part in _PARTS.findall(bare):
        if part.isdecimal():
            words.append(digits(part))
        elif part == "www":
            words.append("w w w")
        else:
            words.append(signs.get(part, part))
    return between.join(words) + tail
