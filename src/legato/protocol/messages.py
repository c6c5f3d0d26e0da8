"""The control messages of `legato.v1`, declared once; codec, schema and docs are derived.

Durations are seconds, positions are samples at the stream's declared rate, `seq` counts the
numbered entries of one stream and direction from 0 (docs/protocol.md, rule 2).
"""

from __future__ import annotations

from legato.protocol.connection import (
    Draining,
    Error,
    FlowControl,
    Hello,
    Message,
    Ping,
    Pong,
    Welcome,
)
from legato.protocol.fields import (
    MAX_MESSAGE_BYTES,
    MAX_NUMBER,
    MAX_POSITION,
    NO_SEQ,
    Digest,
    EndpointingSettings,
    Heartbeat,
    LastSeq,
    Limits,
    NetworkHint,
    Number,
    Period,
    Position,
    Quality,
    Seconds,
    StreamId,
    WordTimes,
)
from legato.protocol.streams import (
    Ack,
    Cancel,
    Continuation,
    Finalize,
    Flush,
    Notice,
    NumberedMessage,
    Resume,
    Resumed,
    Stop,
    StreamEnd,
    StreamMessage,
    StreamStart,
    StreamStarted,
    SwitchDown,
    SwitchUp,
    Text,
    Transcript,
    UtteranceEnd,
)

__all__ = [
    "MAX_MESSAGE_BYTES",
    "MAX_NUMBER",
    "MAX_POSITION",
    "NO_SEQ",
    "Ack",
    "Cancel",
    "ClientMessage",
    "Continuation",
    "Digest",
    "Draining",
    "EndpointingSettings",
    "Error",
    "Finalize",
    "FlowControl",
    "Flush",
    "Heartbeat",
    "Hello",
    "LastSeq",
    "Limits",
    "Message",
    "NetworkHint",
    "Notice",
    "Number",
    "NumberedMessage",
    "Period",
    "Ping",
    "Pong",
    "Position",
    "Quality",
    "Resume",
    "Resumed",
    "Seconds",
    "ServerMessage",
    "Stop",
    "StreamEnd",
    "StreamId",
    "StreamMessage",
    "StreamStart",
    "StreamStarted",
    "SwitchDown",
    "SwitchUp",
    "Text",
    "Transcript",
    "UtteranceEnd",
    "Welcome",
    "WordTimes",
]

ClientMessage = (
    Hello
    | Ping
    | Pong
    | StreamStart
    | Text
    | Flush
    | Finalize
    | Ack
    | FlowControl
    | SwitchDown
    | SwitchUp
    | Cancel
    | StreamEnd
    | Stop
    | Resume
)
"""What a client may send."""

ServerMessage = (
    Welcome
    | Ping
    | Pong
    | StreamStarted
    | Transcript
    | UtteranceEnd
    | Ack
    | Notice
    | FlowControl
    | SwitchDown
    | SwitchUp
    | StreamEnd
    | Resumed
    | Draining
    | Error
)
"""What a server may send."""
