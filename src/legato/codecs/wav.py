"""WAV, the container every tool takes, written to files and pipes."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import struct
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from legato.audio import SAMPLE_BYTES, AudioFormat

HEADER_BYTES: Final = 44
UNKNOWN_SIZE: Final = 0xFFFFFFFF
"""What FFmpeg writes where it cannot know the size, such as on a pipe; readers go on to the end."""

PCM: Final = 0x0001
"""Format tag of integer PCM."""


def header(
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    data_bytes: int | None,
) -> bytes:
    """Return the 44 bytes before the samples.

    Args:
        format: Of the samples.
        data_bytes: Size of the samples; None, or more than the format can say, for unknown.
    """
    if data_bytes is None or data_bytes + HEADER_BYTES - 8 > UNKNOWN_SIZE:
        riff_bytes = data_bytes = UNKNOWN_SIZE
    else:
        riff_bytes = data_bytes + HEADER_BYTES - 8
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", riff_bytes, b"WAVE"),
        *(b"fmt ", 16, PCM, format.channels, format.sample_rate),
        *(format.sample_rate * format.sample_bytes, format.sample_bytes, 8 * SAMPLE_BYTES),
        *(b"data", data_bytes),
    )


def wav_bytes(
    pcm: bytes,
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
) -> bytes:
    """Return `pcm` as a whole WAV file.

    Raises:
        BadAudio: If `pcm` ends in the middle of a sample.
    """
    format.samples_in(pcm)
    return header(format, len(pcm)) + pcm


class WavWriter:
    """Streams PCM into a WAV file or pipe.

    A file appears under its name, whole, when the writer is closed; until then, and after an
    error or Ctrl-C inside the `with` block, what was there before stays untouched and nothing is
    left beside it. A stream is written as it comes and stays open; one that can seek gets its
    sizes at the end, a pipe says "unknown" in its header, which players take to the end.

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
        self._final: Path | None = None
        self._part: Path | None = None
        self._owned = isinstance(target, str | os.PathLike)
        self._closed = False
        if isinstance(target, str | os.PathLike):
            self._stream = self._open(Path(target))
        else:
            self._stream = target
        try:
            self._start = _rewritable_from(self._stream)
            self._put(header(format, None))
        except BaseException:
            self.discard()
            raise

    @property
    def seconds(self) -> float:
        """Written so far."""
        return self.format.seconds(self.samples)

    def write(self, pcm: bytes) -> None:
        """Append samples; on a stream they are on their way when this returns.

        Raises:
            BadAudio: If `pcm` ends in the middle of a sample.
            ValueError: If the writer is closed.
            OSError: If it cannot be written; BrokenPipeError where the reader went away.
        """
        if self._closed:
            raise ValueError("write to a closed WavWriter")
        count = self.format.samples_in(pcm)
        self._put(pcm)
        self.samples += count

    def close(self) -> None:
        """Set the sizes and put the file in its place; closing again does nothing."""
        if self._closed:
            return
        try:
            self._finish()
        except BaseException:
            self.discard()
            raise
        self._closed = True

    def discard(self) -> None:
        """Give up: remove what was written to a file; a stream keeps what it got."""
        self._closed = True
        try:
            if self._owned:
                self._stream.close()
        finally:
            if self._part is not None:
                self._part.unlink(missing_ok=True)

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

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._stream.write(rest) :]  # unbuffered pipes take part of it at a time
        if self._part is None:
            self._stream.flush()

    def _finish(self) -> None:
        if self._start is not None:
            end = self._stream.tell()
            self._stream.seek(self._start)
            self._stream.write(header(self.format, self.samples * self.format.sample_bytes))
            self._stream.seek(end)
            self._stream.flush()
        if self._owned:
            self._stream.close()
        if self._part is not None and self._final is not None:
            self._part.replace(self._final)

    def _open(self, path: Path) -> BinaryIO:
        try:
            before = path.stat()
        except FileNotFoundError:
            before = None
        if before is not None and not stat.S_ISREG(before.st_mode):
            return path.open("wb")  # never put a file in the place of /dev/null
        if before is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        final = path.resolve()  # a symbolic link stays one
        part = final.with_name(f".legato-{secrets.token_hex(8)}.part")
        try:
            stream = part.open("xb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error
        self._final, self._part = final, part
        if before is not None:
            part.chmod(stat.S_IMODE(before.st_mode))
        return stream


def _rewritable_from(stream: BinaryIO) -> int | None:
    """Return where the header goes, or None where it cannot be written a second time."""
    if not stream.seekable() or _appends(stream):
        return None
    return stream.tell()


def _appends(stream: BinaryIO) -> bool:
    """Tell whether every write goes to the end, as after `>>` in a shell."""
    try:
        import fcntl
    except ImportError:
        return False  # Windows, where this cannot be asked
    try:
        return bool(fcntl.fcntl(stream.fileno(), fcntl.F_GETFL) & os.O_APPEND)
    except OSError:
        return False  # in memory, no descriptor
