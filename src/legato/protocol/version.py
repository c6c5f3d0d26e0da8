"""Which protocol is spoken: WebSocket subprotocol, version, optional features."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from legato.errors import UnsupportedVersion

VERSION: Final = 1
"""The version that this code prefers."""

VERSIONS: Final[tuple[int, ...]] = (1,)
"""Every version spoken here."""

SUBPROTOCOL: Final = "legato.v1"
"""Name in `Sec-WebSocket-Protocol`."""

DEFAULT_PORT: Final = 8440
"""TCP port of a server, unless told otherwise."""

FEATURES: Final[tuple[str, ...]] = ()
"""Optional abilities of this code; version 1 has none that is not part of the version."""

_OTHER_VERSION = re.compile(r"legato\.v\d{1,9}")
_SPOKEN = " and ".join(str(version) for version in VERSIONS)


def agree_version(version: int) -> int:
    """Return the version to speak with a peer that announced `version`.

    Raises:
        UnsupportedVersion: If it is not spoken here.
    """
    if version in VERSIONS:
        return version
    raise UnsupportedVersion(
        f"protocol version {version} is not spoken here; this side speaks {_SPOKEN}"
    )


def agree_features(offered: Iterable[str], available: Iterable[str] = FEATURES) -> list[str]:
    """Return the features that both sides have, in the order of `available`; others are ignored."""
    theirs = frozenset(offered)
    return [feature for feature in available if feature in theirs]


def pick_subprotocol(offered: Iterable[str]) -> str | None:
    """Choose what to echo of the names in `Sec-WebSocket-Protocol`.

    Others, such as a browser's `ticket.<...>`, are never echoed.

    Returns:
        `legato.v1` if it was offered; None if no version of Legato was, which is allowed.

    Raises:
        UnsupportedVersion: If only other versions of Legato were offered.
    """
    names = [name.strip() for name in offered]
    if SUBPROTOCOL in names:
        return SUBPROTOCOL
    others = [name for name in names if _OTHER_VERSION.fullmatch(name)]
    if others:
        raise UnsupportedVersion(
            f"subprotocol {others[0]} is not spoken here; this side speaks {SUBPROTOCOL}"
        )
    return None
