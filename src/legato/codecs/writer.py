"""What all writers of audio files have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from types import TracebackType
from typing import BinaryIO, Self

from legato.audio import AudioFormat
from legato.codecs.destination import Destination


class Writer(ABC):
    """Streams PCM into a file or pipe.

    A file appears under its name, whole, when the writer is closed; until then, and after an
    error or Ctrl-C inside the `with` block, what was there before stays untouched and nothing is
    left beside it. A stream is written as it comes and stays open.

    Args:
        target: Path, or a binary stream; a device or FIFO path is written as a stream.
        format: Of the PCM.

    Attributes:
        samples: Written so far, per channel.

    Raises:
        OSError: If the target cannot be written; of the class that names the cause, such as
            PermissionError, or BrokenPipeError where the reader of a pipe went away.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    ) -> None:
        self.format = format
        self.samples = 0
        self._closed = False
        self._destination = Destination(target)
        try:
            self._begin()
        except BaseException:
            self.discard()
            raise

    @property
    def seconds(self) -> float:
        """Written so far."""
        return self.format.seconds(self.samples)

    def write(self, pcm: bytes) -> None:
        """Append samples.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
            ValueError: If the writer is closed.
            OSError: If it cannot be written; BrokenPipeError where the reader went away.
        """
        if self._closed:
            raise ValueError(f"write to a closed {type(self).__name__}")
        count = self.format.samples_in(pcm)
        self._put(pcm)
        self.samples += count

    def close(self) -> None:
        """Write what is left and put the file in its place; closing again does nothing."""
        if self._closed:
            return
        try:
            self._end()
            self._destination.finish()
        except BaseException:
            self.discard()
            raise
        self._closed = True

    def discard(self) -> None:
        """Give up: remove what was written to a file; a stream keeps what it got."""
        self._closed = True
        self._destination.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif not self._closed:
            self.discard()

    @abstractmethod
    def _begin(self) -> None:
        """Write what comes before all samples."""

    @abstractmethod
    def _put(self, pcm: bytes) -> None:
        """Write samples."""

    @abstractmethod
    def _end(self) -> None:
        """Write what comes after all samples."""
