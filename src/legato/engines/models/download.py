"""One file, fetched until it is whole: what was received is kept, and gone on from."""

from __future__ import annotations

import http
import http.client
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from legato.engines.models.faults import Hiccup, HubBroken, HubUnreachable, Stopped
from legato.engines.models.records import BLOCK_BYTES, FileRecord, check
from legato.engines.models.transport import Transport
from legato.errors import ConnectionLost
from legato.flow.backoff import Backoff, Generator, Profile

CHUNK_BYTES: Final = 128 << 10
MAX_RETRY_AFTER: Final = 300.0
"""Seconds that a hub may ask us to wait; if it asks for more, that is told instead."""

_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d+/(\d+|\*)", re.ASCII)

Report = Callable[[int], None]
"""Takes bytes that came; negative where some must be fetched anew. Called in any thread."""


class _Note(msgspec.Struct, frozen=True):
    """What a part is a part of.

    Attributes:
        record: Of the whole file.
        etag: Strong validator of the server that gave it (RFC 9110, 8.8.3), or "".
    """

    record: FileRecord
    etag: str


def profile(tries: int) -> Profile:
    """Return how a file's attempts are spaced: 0.5 s, doubling to 20 s, each drawn from zero up."""
    return Profile(base=0.5, cap=20.0, tries=tries)


@dataclass(slots=True, kw_only=True)
class Download:
    """One file on its way.

    Attributes:
        record: What it must be.
        url: Where it is.
        headers: For the hub.
        target: Where it appears when it is whole.
        part: Where it grows.
        transport: Asks.
        tries: Attempts that bring nothing new until it is given up.
        rng: Source of jitter.
        stop: Set to end it soon.
        report: Told of bytes.
        received: Bytes that came over the network.
    """

    record: FileRecord
    url: str
    headers: Mapping[str, str]
    target: Path
    part: Path
    transport: Transport
    tries: int
    rng: Generator
    stop: threading.Event
    report: Report
    received: int = 0
    _spoilt: int = 0

    def run(self) -> None:
        """Fetch the file; blocks.

        Raises:
            Stopped: If it was asked to stop; what came is kept.
            HubUnreachable: If nothing new came for too long.
            LegatoError: If the hub refuses, or sends what the file is not.
            OSError: If the disk cannot take it.
        """
        self.part.parent.mkdir(parents=True, exist_ok=True)
        backoff, furthest = Backoff(self.rng, profile(self.tries)), 0
        self.report(self._kept())
        while True:
            try:
                self._attempt()
                if self._settled():
                    return
            except Hiccup as error:
                if self._size() > furthest:  # only what had not been reached before is progress
                    furthest = self._size()
                    backoff.reset()
                self._wait(backoff, error)

    def _attempt(self) -> None:
        have = self._size()
        if have == self.record.size_bytes:
            return
        headers = dict(self.headers)
        if have:
            headers["Range"] = f"bytes={have}-"
            if etag := self._note().etag:
                headers["If-Range"] = etag
        with self.transport.open(self.url, headers) as answer, self._opened(answer, have) as file:
            self._copy(answer, file)
        if self._size() < self.record.size_bytes:
            raise Hiccup(f"{self.record.path} broke off")

    def _opened(self, answer: http.client.HTTPResponse, have: int) -> BinaryIO:
        """Open the part where the answer goes on; a server that ignores ranges starts it anew."""
        begins = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        if goes_on and (begins is None or int(begins[1]) != have):
            self._drop()
            raise Hiccup(f"{self.record.path}: the hub sent another range than was asked for")
        if not goes_on:
            self._drop()
            self._write_note(answer.headers.get("ETag", ""))
        return self.part.open("ab", buffering=0)

    def _copy(self, answer: http.client.HTTPResponse, file: BinaryIO) -> None:
        left = self.record.size_bytes - self._size()
        while True:
            try:
                block = answer.read1(CHUNK_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise Hiccup(f"{self.record.path} broke off ({type(error).__name__})") from error
            if self.stop.is_set():  # by then another process may have the model
                raise Stopped
            if not block:
                return
            if len(block) > left:
                self._drop()
                raise HubBroken(f"{self.record.path} is longer than the hub said")
            file.write(block)
            left -= len(block)
            self.received += len(block)
            self.report(len(block))

    def _settled(self) -> bool:
        """Check what came and put it in place; what is wrong is fetched anew, once."""
        verdict = check(self.part, self.record, self.stop)
        if verdict.is_good:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.part.replace(self.target)
            self._note_path.unlink(missing_ok=True)
            return True
        self._drop()
        self._spoilt += 1
        if self._spoilt > 1:
            raise HubBroken(
                f"{self.record.path} came twice with a {verdict}: the hub, or a proxy on the way,"
                " sends other bytes than it lists"
            )
        return False

    def _wait(self, backoff: Backoff, error: Hiccup) -> None:
        if (error.retry_after or 0.0) > MAX_RETRY_AFTER:
            raise HubUnreachable(
                f"{error}; it asks to come back in {error.retry_after:.0f} s",
                retry_after=error.retry_after,
            ) from error
        try:
            delay = backoff.next_delay(time.monotonic(), error.retry_after)
        except ConnectionLost:
            raise HubUnreachable(f"{error}, {self.tries} times") from error
        if self.stop.wait(delay):
            raise Stopped

    def _kept(self) -> int:
        """Return how much of an earlier run can be gone on from, and drop what cannot."""
        note = self._note()
        known = note.record == self.record and (self.record.is_checkable or note.etag)
        if known and self._size() <= self.record.size_bytes:
            return self._size()
        self.part.unlink(missing_ok=True)
        return 0

    def _drop(self) -> None:
        self.report(-self._size())
        self.part.unlink(missing_ok=True)

    def _size(self) -> int:
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def _note_path(self) -> Path:
        return self.part.with_suffix(".json")

    def _note(self) -> _Note:
        try:
            return msgspec.json.decode(self._note_path.read_bytes(), type=_Note)
        except (FileNotFoundError, msgspec.DecodeError):
            return _Note(FileRecord(path="", size_bytes=-1), "")

    def _write_note(self, etag: str) -> None:
        strong = "" if etag.startswith("W/") else etag
        self._note_path.write_bytes(msgspec.json.encode(_Note(self.record, strong)))


def reuse(old: Path, record: FileRecord, target: Path, stop: threading.Event) -> bool:
    """Take a file that is there already, if it is whole; it is shared, not copied, if it can be."""
    if not record.is_checkable or not check(old, record, stop).is_good:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(old)
    except OSError:  # a file system without links
        _copy_file(old, target, stop)
    return True


def _copy_file(old: Path, target: Path, stop: threading.Event) -> None:
    unready = target.with_name(f"{target.name}.unready")
    with old.open("rb") as source, unready.open("wb") as copy:
        while block := source.read(BLOCK_BYTES):
            if stop.is_set():
                raise Stopped
            copy.write(block)
    unready.replace(target)
