"""The bytes of an input, as FFmpeg asks for them."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from legato.errors import BadAudio

HEAD_BYTES: Final = 4096
"""How much of the beginning can be looked at before FFmpeg reads it."""

MAX_SPOOL_BYTES: Final = 1 << 30
"""What a pipe may deliver of a format that has to be read backwards."""

_BLOCK_BYTES: Final = 65536
_ID3_HEADER_BYTES: Final = 10
_ID3_FOOTER_FLAG: Final = 0x10


class Source:
    """A file, pipe or stream, seen through a window whose first byte has offset 0.

    FFmpeg gets bytes, never a path: a path could name one of its own protocols ("concat:…",
    "http:…"). An ID3 tag at the start is left out, because FFmpeg would load it into memory, up
    to 256 MB with its pictures.

    Args:
        source: Path of a file or FIFO, or a binary stream. A stream is read from where it stands
            and stays open.

    Attributes:
        label: What to call it before a person.
        name: A file name for FFmpeg, of which only the extension is real.
        fault: What made reading fail, if something did; FFmpeg sees the end of the file then.

    Raises:
        BadAudio: If it is missing, a directory, forbidden, unreadable or empty.
    """

    def __init__(self, source: str | os.PathLike[str] | BinaryIO) -> None:
        self._ahead = b""  # looked at, not yet read
        self._prefix = b""
        self._offset = 0
        self._origin = 0
        self._limit: int | None = None
        self.fault: BaseException | None = None
        self._owned = isinstance(source, str | os.PathLike)
        if isinstance(source, str | os.PathLike):
            self.label = os.fspath(source)
            self.name = f"input{Path(source).suffix}"
            self._stream: BinaryIO = _open(source, self.label)
        else:
            self.label = _label(source)
            self.name = "input"
            self._stream = source
        try:
            self._begin()
        except OSError as error:
            self.close()
            raise BadAudio(f"{self.label}: cannot be read: {error.strerror or error}") from error
        except BadAudio:
            self.close()
            raise

    def head(self) -> bytes:
        """Return up to 4,096 bytes from the start of the window, before anything is read."""
        while len(self._ahead) < HEAD_BYTES:
            data = self._read_some(HEAD_BYTES - len(self._ahead))
            if not data:
                break
            self._ahead += data
        return self._ahead[:HEAD_BYTES]

    def confine(self, start: int, length: int | None = None, *, prefix: bytes = b"") -> None:
        """Let the window begin `start` bytes further on.

        Args:
            start: Bytes to leave out.
            length: Bytes from there on that the window shows, or None for all.
            prefix: Shown before those, as if the source had them.
        """
        if self._seekable:
            self._move(self._offset + start)
        else:
            while start > 0 and (data := self._take(min(start, _BLOCK_BYTES))):
                start -= len(data)
        self._origin += self._offset - len(self._prefix)
        self._offset = 0
        self._limit = None if length is None else length + len(prefix)
        self._prefix = prefix

    def spool(self) -> None:
        """Put a pipe's bytes into a temporary file, for formats that cannot be read in one go.

        Raises:
            BadAudio: If they are more than 1 GiB.
            OSError: If the pipe or the temporary file fails.
        """
        with ExitStack() as unless_done:
            file = unless_done.enter_context(tempfile.TemporaryFile())
            while data := self._take(_BLOCK_BYTES):
                file.write(data)
                if self._offset > MAX_SPOOL_BYTES:
                    raise BadAudio(f"{self.label}: is too much for a pipe; pass the file's name")
            unless_done.pop_all()
        self.close()
        self._stream = file
        self._owned = True
        self._seekable, self._origin = True, 0
        self._move(0)

    def close(self) -> None:
        """Close the file; a stream that was given stays open."""
        if self._owned:
            self._stream.close()

    # What FFmpeg calls. An exception would not pass through its C code: Ctrl-C would be lost, and
    # some formats take a failing disk for the end. So it sees the end, and `fault` keeps the cause.

    def read(self, size: int) -> bytes:
        """Return at least one byte and at most `size`, nothing at the end."""
        if self.fault is not None:
            return b""
        try:
            return self._take(size)
        except BaseException as fault:  # noqa: BLE001  raised again by whoever called FFmpeg
            self.fault = fault
            return b""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move within the window and return the new offset, or a negative error number."""
        try:
            if whence == os.SEEK_CUR:
                offset += self._offset
            elif whence == os.SEEK_END:
                offset += self._end()
            return self._move(offset) if offset >= 0 else -errno.EINVAL
        except OSError as fault:
            self.fault = fault
            return -errno.EIO

    def tell(self) -> int:
        """Return the offset in the window."""
        return self._offset

    def seekable(self) -> bool:
        """Tell whether it is a file rather than a pipe."""
        return self._seekable

    def _take(self, size: int) -> bytes:
        if self._limit is not None:
            size = min(size, self._limit - self._offset)
            if size <= 0:
                return b""
        if self._offset < len(self._prefix):
            data = self._prefix[self._offset : self._offset + size]
        elif self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            data = self._read_some(size)
        self._offset += len(data)
        return data

    def _read_some(self, size: int) -> bytes:
        """Read what is there rather than wait for all of `size`."""
        data: bytes = getattr(self._stream, "read1", self._stream.read)(size)
        return data

    def _move(self, offset: int) -> int:
        self._stream.seek(self._origin + max(0, offset - len(self._prefix)))
        self._ahead = b""
        self._offset = offset
        return offset

    def _end(self) -> int:
        end = self._stream.seek(0, os.SEEK_END) - self._origin + len(self._prefix)
        return end if self._limit is None else min(end, self._limit)

    def _begin(self) -> None:
        self._seekable = self._stream.seekable()
        self._origin = self._stream.tell() if self._seekable else 0
        if not self.head():
            raise BadAudio(f"{self.label}: is empty (0 bytes)")
        while tag_bytes := _id3_bytes(self.head()):
            self.confine(tag_bytes)
        if not self.head():
            raise BadAudio(f"{self.label}: ends inside its ID3 tag, before any audio")


def _open(path: str | os.PathLike[str], label: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise BadAudio(f"{label}: no such file") from error
    except IsADirectoryError as error:
        raise BadAudio(f"{label}: is a directory, not a file") from error
    except PermissionError as error:
        raise BadAudio(f"{label}: permission denied") from error
    except OSError as error:
        raise BadAudio(f"{label}: cannot be opened: {error.strerror or error}") from error
    except ValueError as error:
        raise BadAudio(f"{label!r}: is no file name: {error}") from error


def _label(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    if name == "<stdin>":
        return "standard input"
    return name if isinstance(name, str) else "the input"


def _id3_bytes(head: bytes) -> int:
    """Return the length of the ID3v2 tag at the start of `head` (id3.org, ID3v2.4.0 §3.1)."""
    if len(head) < _ID3_HEADER_BYTES or head[:3] != b"ID3" or max(head[6:10]) >= 0x80:
        return 0
    size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
    footer = _ID3_HEADER_BYTES if head[5] & _ID3_FOOTER_FLAG else 0
    return _ID3_HEADER_BYTES + size + footer
