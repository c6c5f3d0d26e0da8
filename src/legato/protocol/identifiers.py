"""The names that clients give to streams, and what they may look like."""

from __future__ import annotations

import re
from typing import Final

from legato.errors import MalformedMessage

MAX_STREAM_ID_CHARS: Final = 64

STREAM_ID_PATTERN: Final = r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""ASCII, so that the name is safe in a bus key, a log line, a file name and a URL path."""

_STREAM_ID = re.compile(STREAM_ID_PATTERN)


def check_stream_id(stream_id: str) -> str:
    """Return `stream_id` if a stream may have this name.

    Raises:
        MalformedMessage: If it is empty, longer than 64 characters, holds anything but
            A-Z a-z 0-9 _ . - or two dots in a row, or does not begin with a letter or digit.
    """
    if _STREAM_ID.fullmatch(stream_id):
        return stream_id
    shown = ascii(stream_id[:MAX_STREAM_ID_CHARS])
    raise MalformedMessage(
        f"stream_id {shown} must be 1 to {MAX_STREAM_ID_CHARS} of A-Z a-z 0-9 _ . -,"
        " begin with a letter or digit and hold no two dots in a row - at `$.stream_id`"
    )
