"""What is known of a model's files: names, sizes and checksums."""

from __future__ import annotations

import hashlib
import hmac
import threading
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from legato.engines.models.faults import Stopped

BLOCK_BYTES: Final = 1 << 20


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a model as its hub tells it.

    Attributes:
        path: Inside the model's folder, with `/`.
        size_bytes: Its length.
        sha256: Of the content in hexadecimal digits; "" where the hub does not tell.
        blob_sha1: Git's id of the content as a blob, which Hugging Face tells of files outside of
            LFS; or "".
    """

    path: str
    size_bytes: int
    sha256: str = ""
    blob_sha1: str = ""

    @property
    def is_checkable(self) -> bool:
        """Whether more than the size can be checked."""
        return bool(self.sha256 or self.blob_sha1)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A revision of a model, or the part of it that is wanted.

    Attributes:
        model: `hub:owner/name`.
        revision: Commit where the hub tells it, else the branch.
        files: By path.
        licence: As the hub tells it, or "".
    """

    model: str
    revision: str
    files: tuple[FileRecord, ...]
    licence: str = ""

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)


class Verdict(StrEnum):
    """What a look at a file says."""

    WHOLE = "whole"
    SIZE_ONLY = "size only"
    MISSING = "missing"
    WRONG_SIZE = "wrong size"
    WRONG_CHECKSUM = "wrong checksum"

    @property
    def is_good(self) -> bool:
        """Whether the file is as the hub told it, as far as can be seen."""
        return self in {Verdict.WHOLE, Verdict.SIZE_ONLY}


def look(path: Path, record: FileRecord) -> Verdict:
    """Compare a file's size with its record; nothing is read."""
    if not path.is_file():
        return Verdict.MISSING
    if path.stat().st_size != record.size_bytes:
        return Verdict.WRONG_SIZE
    return Verdict.SIZE_ONLY


def check(path: Path, record: FileRecord, stop: threading.Event | None = None) -> Verdict:
    """Compare a file with its record, byte for byte where the hub told a checksum.

    Raises:
        Stopped: If `stop` was set meanwhile.
        OSError: If it cannot be read.
    """
    seen = look(path, record)
    if not seen.is_good or not record.is_checkable:
        return seen
    if record.sha256:
        digest, told = hashlib.sha256(), record.sha256
    else:
        # Git's id of a blob: SHA-1 over a header and the content (gitformat-pack, "blob <size>\0").
        digest, told = hashlib.sha1(usedforsecurity=False), record.blob_sha1
        digest.update(f"blob {record.size_bytes}\0".encode())
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            if stop is not None and stop.is_set():
                raise Stopped
            digest.update(block)
    right = hmac.compare_digest(digest.hexdigest(), told.lower())
    return Verdict.WHOLE if right else Verdict.WRONG_CHECKSUM
