"""What a gateway leaves with a stream on the bus, so that any other one can go on with it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

from legato.bus.base import Direction, Record
from legato.errors import Internal
from legato.flow.places import DownPlace, Struck, UpPlace
from legato.protocol.messages import StreamStart

STREAM: Final = "stream"
"""Name of the note that says whose the stream is; the other two are written with each trim."""

KNOWN: Final = "known"
"""Name of an empty note that stands once the client has shown that it knows of the stream."""

_T = TypeVar("_T")


class StreamNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream is, and which gateway has it.

    Attributes:
        start: Its parameters.
        engine: Name of the engine that does it.
        voice: Name of the voice, for synthesis.
        gateway: Name of the gateway that has it.
        attachment: Rises with each take-over; the fence of the gateway's writer.
        tokens: SHA-256 of what a client must show to resume it, any of them.
    """

    start: StreamStart
    engine: str
    voice: str | None
    gateway: str
    attachment: int
    tokens: tuple[bytes, ...]

    def admits(self, token: str) -> bool:
        """Whether `token` resumes the stream."""
        given = digest(token)
        return any(hmac.compare_digest(given, known) for known in self.tokens)


class UpNote(msgspec.Struct, frozen=True, kw_only=True):
    """Where up stands; written when it is trimmed.

    Attributes:
        entry: Last entry of the log that is trimmed.
        place: Of an entry that was stored, that one or a later one.
        struck: Of the cancels up to there.
    """

    entry: int
    place: UpPlace
    struck: tuple[Struck, ...] = ()


class DownNote(msgspec.Struct, frozen=True, kw_only=True):
    """Where down stands; written when it is trimmed.

    Attributes:
        entry: Last entry of the log that is trimmed.
        read: Last entry that the gateway had read.
        place: That the client has passed, not before it.
        struck: Of the cancels so far.
    """

    entry: int
    read: int
    place: DownPlace
    struck: tuple[Struck, ...] = ()


NO_UP: Final = UpNote(entry=0, place=UpPlace())
NO_DOWN: Final = DownNote(entry=0, read=0, place=DownPlace())

encode = msgspec.msgpack.Encoder().encode
_decode_stream = msgspec.msgpack.Decoder(StreamNote).decode
_decode_up = msgspec.msgpack.Decoder(UpNote).decode
_decode_down = msgspec.msgpack.Decoder(DownNote).decode


def digest(token: str) -> bytes:
    """Return what is stored of a token."""
    return sha256(token.encode()).digest()


def stream_note(notes: Mapping[str, Record]) -> tuple[StreamNote, int] | None:
    """Return what a stream is, and the version of that note; None if no gateway has left one.

    Raises:
        Internal: If this version does not understand it.
    """
    record = notes.get(STREAM)
    return None if record is None else (_read(record.value, _decode_stream), record.version)


def up_note(notes: Mapping[str, Record]) -> UpNote:
    """Return where up stands; errors as in `stream_note`."""
    record = notes.get(Direction.UP.value)
    return NO_UP if record is None else _read(record.value, _decode_up)


def down_note(notes: Mapping[str, Record]) -> DownNote:
    """Return where down stands; errors as in `stream_note`."""
    record = notes.get(Direction.DOWN.value)
    return NO_DOWN if record is None else _read(record.value, _decode_down)


def all_struck(up: UpNote, down: DownNote, logged: tuple[Struck, ...]) -> tuple[Struck, ...]:
    """Return what all cancels struck that matter behind `down`'s place, in their order."""
    known = {one.utterance: one for one in (*down.struck, *up.struck, *logged)}
    return tuple(known[utterance] for utterance in sorted(known) if utterance > down.place.ended)


def _read(value: bytes, decode: Callable[[bytes], _T]) -> _T:
    try:
        return decode(value)
    except msgspec.DecodeError as error:
        raise Internal(f"a note of the stream is not understood: {error}") from error
