"""Names that other services give their voices, and what their users expect to hear.

A program written for OpenAI asks for `alloy`, one for DashScope for `longxiaochun_v2`. Neither
voice is here; what is told of it is enough to choose one that is: its language, and whether it
sounds female or male.

Sources: OpenAI, "Text to speech", voices of `gpt-4o-mini-tts` and `tts-1`; Alibaba Cloud Model
Studio, "CosyVoice voice list", of cosyvoice-v1 to v3. OpenAI tells no gender: those here are how
its voices are commonly heard, and none for `alloy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_VERSION: Final = re.compile(r"_v\d+(?:\.\d+)?$")
"""DashScope's mark of the model that a voice belongs to: `longwan`, `longwan_v2`, `longwan_v3`."""


@dataclass(frozen=True, slots=True)
class Alias:
    """What somebody expects of a voice who asks for it by a name from elsewhere.

    Attributes:
        vendor: Whose name it is: "openai" or "dashscope".
        language: BCP 47 tag of what it speaks first.
        gender: "female", "male", or None where either will do.
    """

    vendor: str
    language: str
    gender: str | None


_OPENAI: Final = (
    ("en", None, "alloy"),
    ("en", "female", "coral marin nova sage shimmer"),
    ("en", "male", "ash ballad cedar echo onyx verse"),
    ("en-GB", "male", "fable"),
)
_DASHSCOPE: Final = (
    ("zh", "female", "longxiaochun longxiaoxia longxiaobai longwan longhua longjing longmiao"),
    ("zh", "female", "longyue longyuan longtong longyan longxing longqiang longfeifei longanrou"),
    ("zh", "female", "longyumi longanwen longanli longanhuan longantai longanmin longyingmu"),
    ("zh", "female", "longyingjing longyingling longyingtao longyingxiao longhuhu longxian"),
    ("zh", "female", "longling loongbella"),
    ("zh", "male", "longxiaocheng longcheng longlaotie longshu longshuo longfei longxiang"),
    ("zh", "male", "longjielidou longanyang longze longzhe longtian longhao longanyun longanlang"),
    ("zh", "male", "longyingxun longshange longniuniu"),
    ("zh", None, "longpaopao longshanshan"),
    ("yue", "female", "longjiaxin longjiayi"),
    ("yue", "male", "longanyue"),
    ("en-US", "female", "loongstella loongabby loongannie loongava loongbeth loongbetty"),
    ("en-US", "female", "loongcally loongcindy loongdonna"),
    ("en-US", "male", "loongandy loongdavid"),
    ("en-GB", "female", "loongemily loongluna"),
    ("en-GB", "male", "loongeric loongluca"),
    ("ja", "female", "loongriko loongtomoka loongyuuna"),
    ("ja", "male", "loongtomoya loongyuuma"),
    ("ko", "female", "loongkyong"),
    ("ko", "male", "loongjihun"),
    ("id", "female", "loongindah"),
)
"""Language, gender and names; voices that speak a dialect of Mandarin are Chinese here."""


def _entries() -> Iterator[tuple[str, Alias]]:
    for vendor, groups in (("openai", _OPENAI), ("dashscope", _DASHSCOPE)):
        for language, gender, names in groups:
            for name in names.split():
                yield name, Alias(vendor, language, gender)


ALIASES: Final[Mapping[str, Alias]] = MappingProxyType(dict(_entries()))
"""All names known, without DashScope's mark of the model."""


def alias_of(name: str) -> Alias | None:
    """Return what is expected of a voice of this name; None if no vendor is known to have it.

    Case does not matter, nor does DashScope's mark of the model: `longwan_v2` is `longwan`.
    """
    plain = name.lower()
    found = ALIASES.get(plain)
    if found is None:
        found = ALIASES.get(_VERSION.sub("", plain))
        return found if found is not None and found.vendor == "dashscope" else None
    return found
