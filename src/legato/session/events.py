"""What a session tells its shell.

Those that come with every frame or ack are structs: a frozen dataclass takes six times as long to
make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from legato.errors import LegatoError
from legato.protocol.messages import (
    FlowControl,
    Hello,
    Notice,
    Resume,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Welcome,
)
from legato.session.lane import Item
from legato.session.stream import Stream


@dataclass(frozen=True, slots=True)
class Greeted:
    """Server: a client said hello; identify it, then go on or `close`."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class Welcomed:
    """Client: the session is open."""

    welcome: Welcome


@dataclass(frozen=True, slots=True)
class StreamRequested:
    """Server: a stream is asked for; answer with `accept` or `refuse`."""

    start: StreamStart


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    """Server: a stream is to go on here; answer with `attach` or `refuse`."""

    resume: Resume


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """Client: the server runs the stream."""

    stream: Stream
    started: StreamStarted


@dataclass(frozen=True, slots=True)
class StreamRecovered:
    """Client: the stream goes on over a new connection, nothing lost."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class ResumeRefused:
    """Client: the server cannot take the stream now; it waits for the next connection."""

    stream: Stream
    error: LegatoError


class Received(msgspec.Struct, frozen=True):
    """Entries of one stream, in order, each exactly once."""

    stream: Stream
    items: Sequence[Item]


class Progressed(msgspec.Struct, frozen=True):
    """Client: the server acknowledged more or gave credit; senders may go on."""

    stream: Stream


class Acknowledged(msgspec.Struct, frozen=True):
    """Server: the listener holds everything up to `seq`; it need not be kept."""

    stream: Stream
    seq: int
    played_upto: int | None


@dataclass(frozen=True, slots=True)
class Paced:
    """Client: the server asks for a pace; the session obeys by itself."""

    control: FlowControl


@dataclass(frozen=True, slots=True)
class Noticed:
    """Client: news of one stream."""

    stream: Stream
    notice: Notice


@dataclass(frozen=True, slots=True)
class StreamFinished:
    """The stream is over and everything was delivered.

    Attributes:
        stream: Which.
        end: The server's totals and digest.
        intact: Client: whether the digest over what came is the server's.
    """

    stream: Stream
    end: StreamEnd
    intact: bool


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """The stream is over with a fault; others go on."""

    stream: Stream
    error: LegatoError


@dataclass(frozen=True, slots=True)
class StreamStopped:
    """Server: the client wants the stream ended and its data deleted."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class DrainAnnounced:
    """Client: the server goes away in `deadline` seconds."""

    deadline: float


@dataclass(frozen=True, slots=True)
class LinkStalled:
    """Client: the peer does not answer; the connection counts as lost."""

    error: LegatoError


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """The session is over; close the connection with `error.close_code`."""

    error: LegatoError


Event = (
    Greeted
    | Welcomed
    | StreamRequested
    | ResumeRequested
    | StreamOpened
    | StreamRecovered
    | ResumeRefused
    | Received
    | Progressed
    | Acknowledged
    | Paced
    | Noticed
    | StreamFinished
    | StreamFailed
    | StreamStopped
    | DrainAnnounced
    | LinkStalled
    | SessionFailed
)
