"""Where a connection and its socket meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Sink(Protocol):
    """What takes a socket's messages."""

    def receive(self, data: str | bytes) -> None:
        """Take one message; several may come before `flush`."""

    def flush(self) -> None:
        """All that had arrived was handed over, or the socket can be written to again."""

    def lost(self) -> None:
        """Nothing more comes, and nothing more can be sent; may be called twice."""


class Socket(Protocol):
    """What a connection needs of its socket."""

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the kernel has not taken."""

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up with what is sent."""

    @property
    def closed_by_peer(self) -> bool:
        """Whether the peer has sent a close frame."""

    def write(self, frames: Sequence[str | bytes]) -> None:
        """Send text and binary messages in one write; nothing is sent on a closed socket."""

    def close(self, code: int, reason: str = "") -> None:
        """Close behind what was written; a peer that does not answer in time is dropped."""

    def pause(self) -> None:
        """Stop reading, so that the sender's own socket fills."""

    def resume(self) -> None:
        """Read again."""
