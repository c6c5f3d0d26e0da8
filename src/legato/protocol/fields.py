"""What the fields of control messages hold: bounded numbers and the objects inside messages."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from legato.protocol.identifiers import STREAM_ID_PATTERN

NO_SEQ = -1
"""Value of `received_seq` and `committed_seq` while there is none."""

MAX_MESSAGE_BYTES: Final = 262_144
"""Largest WebSocket message, text or binary."""

MAX_NUMBER: Final = 2**32 - 1
"""Largest stream number, seq, epoch or utterance: what the uint32 fields of a frame hold."""

MAX_POSITION: Final = 2**53 - 1
"""Largest position; a browser counts no further without rounding (rule 3)."""

Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
"""A count or number of 32 bits."""

LastSeq = Annotated[int, msgspec.Meta(ge=NO_SEQ, le=MAX_NUMBER)]
"""An inclusive seq, or `NO_SEQ`."""

Position = Annotated[int, msgspec.Meta(ge=0, le=MAX_POSITION)]
"""Samples or characters since the stream's start."""

Seconds = Annotated[float, msgspec.Meta(ge=0)]
"""A duration that is not negative."""

Period = Annotated[float, msgspec.Meta(gt=0)]
"""A duration that is not zero, as a timer needs it."""

StreamId = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": STREAM_ID_PATTERN})]
"""A stream's name; `identifiers.check_stream_id` is the rule."""

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
"""SHA-256 in hex."""


def documented(minimum: float, maximum: float) -> msgspec.Meta:
    """Return bounds for schema and docs alone: beyond them the stream is refused, no message."""
    return msgspec.Meta(extra_json_schema={"minimum": minimum, "maximum": maximum})


class NetworkHint(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What a client believes of its network; a prior, never a measurement.

    Attributes:
        effective_type: As `navigator.connection` names it: slow-2g, 2g, 3g or 4g.
        rtt: Round-trip time in seconds.
        downlink_kbps: Kilobits per second.
        save_data: Whether the user asked to save data.
    """

    effective_type: str | None = None
    rtt: Seconds | None = None
    downlink_kbps: Annotated[float, msgspec.Meta(ge=0)] | None = None
    save_data: bool = False


class Limits(msgspec.Struct, kw_only=True, gc=False):
    """What the server allows.

    Attributes:
        resume_window: Seconds a stream outlives its connection.
        max_message_bytes: Largest WebSocket message.
        max_streams: Open streams of one connection.
        max_text_chars: Characters of one utterance.
    """

    resume_window: Seconds = 30.0
    max_message_bytes: Number = MAX_MESSAGE_BYTES
    max_streams: Number = 64
    max_text_chars: Number = 20_000


class Heartbeat(msgspec.Struct, kw_only=True, gc=False):
    """When the client pings.

    Attributes:
        idle: Seconds between pings while no stream is open.
        active: Seconds without ack or data, while one is, until a ping.
        timeout: Seconds without a pong until the connection counts as lost.
    """

    idle: Period = 30.0
    active: Period = 2.0
    timeout: Period = 5.0


class EndpointingSettings(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """When the server ends a segment of speech by itself.

    Attributes:
        silence: Seconds of silence; null leaves it to `finalize`.
        threshold: Speech probability, 0 to 1.
    """

    silence: Annotated[float, documented(0.1, 10)] | None = 0.5
    threshold: Annotated[float, documented(0, 1)] = 0.5


class Quality(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What a listener measured since its last ack.

    Attributes:
        rtt: Seconds.
        buffered: Seconds of audio waiting to be played.
        stalls: Underruns so far.
    """

    rtt: Seconds | None = None
    buffered: Seconds | None = None
    stalls: Number = 0


class WordTimes(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One word of a transcript.

    Attributes:
        text: As read.
        start: Seconds from the stream's start.
        end: Seconds from the stream's start.
        confidence: 0 to 1 where the engine gives it.
    """

    text: str
    start: float
    end: float
    confidence: float | None = None
