"""Audio of any chunk size as frames of one size (R4)."""

from __future__ import annotations

from collections.abc import Iterator


class Framer:
    """Cuts a flow of PCM into frames.

    Args:
        frame_bytes: Bytes of a frame: 640 for 20 ms at 16 kHz mono.
    """

    __slots__ = ("_frame_bytes", "_rest")

    def __init__(self, frame_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        self._rest = b""

    def push(self, pcm: bytes) -> Iterator[bytes]:
        """Yield the frames that `pcm` completes."""
        data = self._rest + pcm if self._rest else pcm
        whole = len(data) - len(data) % self._frame_bytes
        self._rest = data[whole:]
        for start in range(0, whole, self._frame_bytes):
            yield data[start : start + self._frame_bytes]

    def flush(self) -> bytes:
        """Return what is left, less than a frame."""
        rest, self._rest = self._rest, b""
        return rest
