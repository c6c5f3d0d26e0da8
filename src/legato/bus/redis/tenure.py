"""A writer's hold of a log: how it is got, used, and found to be over.

A log is a Redis stream whose key ends with a token that only its holder knows. Who wants to write
takes the log: a script checks the fence and renames the key. From then on entries are stored by
plain XADD NOMKSTREAM with explicit numbers: they find the key, or nothing at all if the log was
taken by another, deleted, or has expired. When a connection is lost, the writer takes the log
again and so learns what of its own is there; what is still on its way can do nothing any more.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from legato.bus.base import Direction, StreamKey
from legato.bus.redis.gauge import ENTRY_BYTES
from legato.bus.redis.keys import StreamKeys
from legato.bus.redis.link import Command, Reply, number
from legato.bus.redis.scripts import TAKE
from legato.bus.redis.view import gone
from legato.errors import EpochChanged, SessionReplaced


class Elsewhere(EpochChanged):
    """The log's key is not beside its record; it may be on its way to another node of a Cluster."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a writer learns when it takes a log.

    Attributes:
        mine: Number of its own last entry.
        trimmed: Bytes trimmed.
        told: Whom to tell that it has taken the log.
    """

    mine: int
    trimmed: int
    told: str


class Tenure:
    """Makes the commands of one writer and understands the replies.

    Args:
        key: The stream.
        direction: Which of its logs.
        fence: Of the writer.
        writer: Its name, nobody else's.
        keys: Of the stream.

    Attributes:
        incarnation: Of the stream; empty until it is known.
        token: Under which the log can be written to; empty while it must be taken.
        last: Number of the last entry in the log.
        stored: Bytes ever stored in it.
        readers: Who reads it, as the record lists them.
    """

    def __init__(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int,
        writer: str,
        keys: StreamKeys,
    ) -> None:
        self._key = key
        self._direction = direction
        self._letter = direction.value[0]
        self._fence = fence
        self._writer = writer
        self._keys = keys
        self._next_token = ""
        self.incarnation = b""
        self.token = ""
        self.last = 0
        self.stored = 0
        self.readers = ""

    @property
    def name(self) -> str:
        """The log, for people."""
        return f"the {self._direction} log of stream {self._key.stream_id!r}"

    def place(self, field: str) -> tuple[str, str]:
        """Return the record and the name of one of its fields for this direction."""
        return self._keys.record, self._letter + field

    def take(self, watcher: str) -> Command:
        """Return the command that takes the log; `watcher` is to be told of changes."""
        self.token, self._next_token = "", secrets.token_hex(6)
        identity = (self._letter, self.incarnation, self._fence, self._writer)
        return TAKE((self._keys.record,), *identity, self._next_token, watcher)

    def taken(self, reply: Reply, known: int) -> Taken:
        """Understand the reply to `take`.

        Args:
            reply: Of the script.
            known: Number of the writer's last entry that is known to be stored.

        Raises:
            SessionReplaced: If a newer fence holds the log.
            SessionExpired: If the stream is gone.
            EpochChanged: If the log has lost what it had taken.
        """
        match reply:
            case [b"ok", bytes(incarnation), int(mine), int(last), int(stored), *rest]:
                self.incarnation = incarnation
                self.last, self.stored = last, stored
                if mine < known:
                    raise EpochChanged(f"Redis has lost entries of {self.name} that it had taken")
                match rest:
                    case [int(trimmed), bytes(readers), bytes(told)]:
                        self.token = self._next_token
                        self.readers = readers.decode()
                        return Taken(mine, trimmed, told.decode())
            case [b"fenced", fence]:
                raise self._replaced(fence)
            case [b"lost"]:
                raise Elsewhere(f"Redis does not find {self.name} beside its record")
        raise gone(self._key)

    def store(self, entries: Sequence[bytes]) -> Command:
        """Return the command that stores entries behind the last one."""
        log = self._keys.log(self._direction, self.token)
        last = self.last + len(entries)
        sizes = f"{self.stored} {self.stored + size_of(entries)}"
        command: list[str | bytes] = ["XADD", log, "NOMKSTREAM", f"{last}-0", "b", sizes]
        for entry in entries:
            command += ("e", entry)
        return tuple(command)

    def advance(self, entries: Sequence[bytes]) -> int:
        """Note that entries are stored; return what they count."""
        size_bytes = size_of(entries)
        self.last += len(entries)
        self.stored += size_bytes
        return size_bytes

    def look(self) -> Command:
        """Return the command that shows the state of the log."""
        names = ("g", *(self._letter + field for field in "fkxr"))
        return ("HMGET", self._keys.record, *names)

    def looked(self, reply: Reply) -> int | None:
        """Understand the reply to `look`.

        Returns:
            Bytes trimmed; None if the log must be taken again.

        Raises:
            SessionReplaced: If a newer fence holds the log.
            SessionExpired: If the stream is gone.
        """
        match reply:
            case [self.incarnation, fence, token, trimmed, readers]:
                if number(fence) > self._fence:
                    raise self._replaced(fence)
                if token != self.token.encode():
                    return None
                self.readers = readers.decode() if isinstance(readers, bytes) else ""
                return number(trimmed)
        raise gone(self._key)

    def _replaced(self, fence: Reply) -> SessionReplaced:
        return SessionReplaced(
            f"writer {self._fence} of {self.name} was replaced by {number(fence)}"
        )


def size_of(entries: Sequence[bytes]) -> int:
    """Return what entries count in the log."""
    return sum(map(len, entries)) + ENTRY_BYTES * len(entries)
