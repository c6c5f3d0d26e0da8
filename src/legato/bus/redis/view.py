"""What two plain commands show of a log: where it is, and some entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.bus.base import Direction, Entry, StreamKey
from legato.bus.redis.encoding import decode_entry
from legato.bus.redis.keys import StreamKeys
from legato.bus.redis.link import Command, Reply, number
from legato.errors import Internal, ResumeGap, SessionExpired


def read_commands(
    keys: StreamKeys, direction: Direction, token: str, *, start: int, limit: int
) -> tuple[Command, Command]:
    """Return the commands that read a log.

    They are no script, so that payloads do not pass through Lua; what changes between them shows
    as another token or as entries that do not follow on, and one reads again.

    Args:
        keys: Of the stream.
        direction: Which log.
        token: Under which the log is thought to be.
        start: Number of the first entry.
        limit: Entries of Redis, each with one or more of ours.
    """
    letter = direction.value[0]
    return (
        ("HMGET", keys.record, "g", letter + "k", letter + "t"),
        ("XRANGE", keys.log(direction, token), f"{start}-0", "+", "COUNT", limit),
    )


@dataclass(frozen=True, slots=True)
class View:
    """The replies to `read_commands`.

    Attributes:
        key: The stream.
        direction: Which log.
        incarnation: Of the stream; empty if it is gone.
        token: Under which the log is; empty if nobody has written yet.
        trimmed: Number of the last entry forgotten.
        stored: Entries as Redis returns them.
    """

    key: StreamKey
    direction: Direction
    incarnation: bytes
    token: str
    trimmed: int
    stored: Sequence[Reply]

    @classmethod
    def of(cls, key: StreamKey, direction: Direction, replies: Sequence[Reply]) -> View:
        """Understand replies.

        Raises:
            Internal: If they are none to `read_commands`.
        """
        match replies:
            case [[bytes() | None as incarnation, bytes() | None as token, trimmed], list(stored)]:
                known = (incarnation or b"", (token or b"").decode(), number(trimmed))
                return cls(key, direction, *known, stored)
        raise Internal(f"Redis answers what was not asked: {type(replies).__name__}")

    @property
    def name(self) -> str:
        """The log, for people."""
        return f"the {self.direction} log of stream {self.key.stream_id!r}"

    def check(self, incarnation: bytes, after: int) -> None:
        """See that one can go on above `after`.

        Args:
            incarnation: Of the stream that is meant; empty if any.
            after: Number of the last entry that is not wanted.

        Raises:
            SessionExpired: If that stream is gone.
            ResumeGap: If entries above `after` were trimmed.
        """
        if not self.incarnation or incarnation not in (b"", self.incarnation):
            raise gone(self.key)
        if self.trimmed > after:
            raise ResumeGap(
                f"entries {after + 1} to {self.trimmed} of {self.name} were trimmed",
                missing=(after + 1, self.trimmed + 1),
            )

    def entries(self, start: int) -> list[Entry]:
        """Return the entries numbered from `start` on, none if the first of them is not there.

        Raises:
            Internal: If there is one that this version does not understand.
        """
        found: list[Entry] = []
        for raw in self.stored:
            last, payloads = _parts(raw)
            first = last - len(payloads) + 1
            wanted = start + len(found)
            if first > wanted:
                break
            found += [Entry(n, decode_entry(payloads[n - first])) for n in range(wanted, last + 1)]
        return found


def gone(key: StreamKey) -> SessionExpired:
    """Return the error of a stream that is not there."""
    return SessionExpired(
        f"stream {key.stream_id!r} is not here: never was, deleted, or its time to live passed"
    )


def _parts(raw: Reply) -> tuple[int, Sequence[bytes]]:
    match raw:
        case [bytes(last), [b"b", bytes(), b"e", *payloads]]:
            return int(last.partition(b"-")[0]), [p for p in payloads[::2] if isinstance(p, bytes)]
    raise Internal(f"Redis holds what is no entry: {type(raw).__name__}")
