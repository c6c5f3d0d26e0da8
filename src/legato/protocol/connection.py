"""The messages about a connection as a whole, and the root of all."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from legato.protocol.fields import (
    Heartbeat,
    Limits,
    NetworkHint,
    Number,
    Position,
    Seconds,
)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Message(
    msgspec.Struct, tag_field="type", tag=_snake, kw_only=True, omit_defaults=True, gc=False
):
    """Root of all control messages; `type` is the class name in snake_case."""


class Hello(Message, kw_only=True):
    """Opens the session.

    Attributes:
        version: Protocol version, 1.
        features: Optional abilities of the sender; unknown ones are ignored.
        auth: Key, where the transport's header cannot carry it.
        client: Name and version of the client software.
        network_hint: Prior for the first second.
    """

    version: Number
    features: list[str] = []
    auth: str | None = None
    client: str | None = None
    network_hint: NetworkHint | None = None


class Welcome(Message, kw_only=True):
    """Answers hello.

    Attributes:
        version: Protocol version spoken from here on.
        features: Abilities that both sides have.
        session_id: For logs and support.
        resume_token: For `resume` on a later connection; the last one given is valid.
        limits: What the server allows.
        heartbeat: When to ping.
    """

    version: Number
    session_id: str
    resume_token: str
    features: list[str] = []
    limits: Limits = msgspec.field(default_factory=Limits)
    heartbeat: Heartbeat = msgspec.field(default_factory=Heartbeat)


class Ping(Message, kw_only=True):
    """Asks for a pong; answered by the receive loop.

    Attributes:
        id: Returned as it is.
        time: The sender's clock in seconds, returned as it is.
    """

    id: Position
    time: float = 0.0


class Pong(Message, kw_only=True):
    """Answers a ping.

    Attributes:
        id: Of the ping.
        time: Of the ping.
    """

    id: Position
    time: float = 0.0


class FlowControl(Message, kw_only=True):
    """A pace that holds until the next one.

    Attributes:
        rate: Multiples of real time; 0 stops audio, never control or text.
        reason: For logs.
        stream: One stream, or absent for all.
    """

    rate: Annotated[float, msgspec.Meta(ge=0)]
    reason: str | None = None
    stream: Number | None = None


class Draining(Message, kw_only=True):
    """The server goes away.

    Attributes:
        deadline: Seconds until it closes the connection.
        resume_token: Valid at any other server.
    """

    deadline: Seconds
    resume_token: str | None = None


class Error(Message, kw_only=True):
    """Something failed; `docs/errors.md` lists the codes.

    Attributes:
        code: Stable name.
        message: What happened and what to do.
        retryable: Whether the same may succeed later.
        retry_after: Seconds to wait.
        stream: The stream concerned, or absent for the session.
        expected: For `sequence_gap`: where to go on.
        offer: For `overloaded`: what would be accepted.
        characters: For `unsupported_text`: what cannot be spoken.
        missing: For `resume_gap`: the lost range.
    """

    code: str
    message: str = ""
    retryable: bool = False
    retry_after: Seconds | None = None
    stream: Number | None = None
    expected: Number | None = None
    offer: dict[str, Any] | None = None
    characters: str | None = None
    missing: tuple[Position, Position] | None = None
