"""A digest that grows with a stream, so that truncation is never taken for an end."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

EMPTY: Final = bytes(32)
"""The digest before the first payload."""


class Chain:
    """Digest of the payloads put on the wire, in order: d(n) = SHA-256(d(n-1) || payload(n)).

    Its whole state is the digest, so that another process can go on from the one in the log
    (docs/protocol.md, rule 8).

    Attributes:
        digest: 32 bytes.
    """

    __slots__ = ("digest",)

    def __init__(self, digest: bytes = EMPTY) -> None:
        if len(digest) != len(EMPTY):
            raise ValueError(f"a digest has {len(EMPTY)} bytes, not {len(digest)}")
        self.digest = digest

    def update(self, payload: bytes) -> None:
        """Add the payload of one frame; an empty one counts too."""
        self.digest = sha256(self.digest + payload).digest()

    def hexdigest(self) -> str:
        """Return the digest as 64 hex digits, as `stream_end` carries it."""
        return self.digest.hex()
