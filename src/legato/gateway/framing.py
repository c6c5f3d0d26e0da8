"""WebSocket framing of what nearly every message is: one whole frame, text or binary.

The general parser of `websockets` (RFC 6455, section 5) costs 10 to 15 µs a message, as much as all
that happens to an audio frame in a session. What is simple is read here; the rest goes to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from websockets.speedups import apply_mask

WHOLE_TEXT: Final = 0x81
WHOLE_BINARY: Final = 0x82
"""First byte of a frame: final, no extension bits, opcode."""

MASKED: Final = 0x80
SHORT: Final = 126
"""Lengths below are in the second byte; this value says that two more follow, 127 eight."""

LONG: Final = 65_536
MASK_BYTES: Final = 4
HEAD_BYTES: Final = 2


def take_whole(
    data: bytes, largest_bytes: int, most: int = 1024
) -> tuple[list[str | bytes], bytes]:
    """Read the messages at the beginning of `data` that a client sent in one whole frame each.

    Args:
        data: Bytes that begin with a frame, when no fragmented message is under way.
        largest_bytes: Longest message; a longer one is left to the general parser.
        most: Messages read at the most.

    Returns:
        The messages, text with broken UTF-8 as surrogates, and the bytes after them: what is
        beyond `most`, or begins with a control frame, a fragment, a frame of 64 KiB, or an
        incomplete or wrong one.
    """
    messages: list[str | bytes] = []
    size, at = len(data), 0
    while size - at >= HEAD_BYTES + MASK_BYTES and len(messages) < most:
        kind, length = data[at], data[at + 1] - MASKED
        if not 0 <= length <= SHORT or (kind != WHOLE_BINARY and kind != WHOLE_TEXT):
            break
        start = at + HEAD_BYTES + MASK_BYTES
        if length == SHORT:
            start += 2
            length = data[at + 2] << 8 | data[at + 3]
        end = start + length
        if end > size or length > largest_bytes:
            break
        payload = apply_mask(data[start:end], data[start - MASK_BYTES : start])
        messages.append(
            payload if kind == WHOLE_BINARY else payload.decode("utf-8", "surrogateescape")
        )
        at = end
    return messages, data[at:]


def framed(messages: Iterable[str | bytes]) -> bytes:
    """Return messages as a server sends them: each in one frame, not masked."""
    parts: list[bytes] = []
    for message in messages:
        if isinstance(message, str):
            kind, payload = WHOLE_TEXT, message.encode()
        else:
            kind, payload = WHOLE_BINARY, message
        size = len(payload)
        if size < SHORT:
            parts.append(bytes((kind, size)))
        elif size < LONG:
            parts.append(bytes((kind, SHORT, size >> 8, size & 0xFF)))
        else:
            parts.append(bytes((kind, SHORT + 1)) + size.to_bytes(8))
        parts.append(payload)
    return b"".join(parts)
