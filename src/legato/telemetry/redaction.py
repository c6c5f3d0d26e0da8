"""Takes the secrets out of what is shown: user and password of addresses."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"

_USER: Final = re.compile(r"(?<=://)\S*@")
"""From the scheme to the last @: a password may hold any other character, : and / too."""


def redacted(text: str) -> str:
    """Return `text` with user and password of every URL in it replaced."""
    return _USER.sub(f"{HIDDEN}@", text) if "@" in text else text
