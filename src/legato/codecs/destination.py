"""Where a file goes: in its place once it is whole, or down a pipe as it comes."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO


class Destination:
    """A file or a stream that is written once, from front to back.

    A file appears under its name, whole, with `finish`; until then, and after `discard`, what was
    there before stays untouched and nothing is left beside it. A stream stays open.

    Args:
        target: Path, or a binary stream; a device or FIFO path is written as a stream.

    Attributes:
        start: Where in the stream it begins, or None where nothing can be written a second time.

    Raises:
        OSError: If the target cannot be written; of the class that names the cause, such as
            PermissionError, or BrokenPipeError where the reader of a pipe went away.
    """

    def __init__(self, target: str | os.PathLike[str] | BinaryIO) -> None:
        self._final: Path | None = None
        self._part: Path | None = None
        self._owned = isinstance(target, str | os.PathLike)
        if isinstance(target, str | os.PathLike):
            self._stream = self._open(Path(target))
        else:
            self._stream = target
        try:
            self.start = _rewritable_from(self._stream)
        except BaseException:
            self.discard()
            raise

    def write(self, data: bytes | memoryview) -> int:
        """Append bytes; on a stream they are on their way when this returns.

        Raises:
            OSError: If it cannot be written; BrokenPipeError where the reader went away.
        """
        rest = memoryview(data)
        while rest:
            rest = rest[self._stream.write(rest) :]  # unbuffered pipes take part of it at a time
        if self._part is None:
            self._stream.flush()
        return len(data)

    def rewrite(self, head: bytes) -> None:
        """Write the beginning again, where that can be."""
        if self.start is not None:
            end = self._stream.tell()
            self._stream.seek(self.start)
            self._stream.write(head)
            self._stream.seek(end)
            self._stream.flush()

    def tell(self) -> int:
        """Return the place of the next byte, counted from the start."""
        return self._stream.tell() - (self.start or 0)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place counted from the start; only where `start` is not None."""
        if whence == os.SEEK_SET:
            offset += self.start or 0
        return self._stream.seek(offset, whence) - (self.start or 0)

    def finish(self) -> None:
        """Put the file in its place."""
        if self._owned:
            self._stream.close()
        if self._part is not None and self._final is not None:
            self._part.replace(self._final)

    def discard(self) -> None:
        """Give up: remove what was written to a file; a stream keeps what it got."""
        try:
            if self._owned:
                self._stream.close()
        finally:
            if self._part is not None:
                self._part.unlink(missing_ok=True)

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
