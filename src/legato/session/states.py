"""States and signals of links and streams, as tables; the drawings in the docs come from here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar

from legato.errors import UnexpectedMessage

S = TypeVar("S", bound=StrEnum)
G = TypeVar("G", bound=StrEnum)


class LinkState(StrEnum):
    """One connection, seen from either end."""

    IDLE = "idle"
    GREETING = "greeting"
    OPEN = "open"
    RAW = "raw"
    CLOSED = "closed"


class LinkSignal(StrEnum):
    """What moves a link."""

    CONNECT = "connect"
    GREET = "greet"
    RAW_START = "raw_start"
    LOSE = "lose"
    CLOSE = "close"


class StreamState(StrEnum):
    """One stream, seen from either end."""

    STARTING = "starting"
    OPEN = "open"
    SUSPENDED = "suspended"
    RESUMING = "resuming"
    ENDED = "ended"
    FAILED = "failed"


class StreamSignal(StrEnum):
    """What moves a stream."""

    STARTED = "started"
    LOSE = "lose"
    RESUME = "resume"
    RESUMED = "resumed"
    RESTART = "restart"
    END = "end"
    FAIL = "fail"


LINK: Final[Mapping[tuple[LinkState, LinkSignal], LinkState]] = MappingProxyType(
    {
        (LinkState.IDLE, LinkSignal.CONNECT): LinkState.GREETING,
        (LinkState.GREETING, LinkSignal.GREET): LinkState.OPEN,
        (LinkState.GREETING, LinkSignal.RAW_START): LinkState.RAW,
        (LinkState.GREETING, LinkSignal.LOSE): LinkState.IDLE,
        (LinkState.OPEN, LinkSignal.RAW_START): LinkState.RAW,
        (LinkState.OPEN, LinkSignal.LOSE): LinkState.IDLE,
        (LinkState.RAW, LinkSignal.LOSE): LinkState.IDLE,
        (LinkState.IDLE, LinkSignal.LOSE): LinkState.IDLE,
        (LinkState.IDLE, LinkSignal.CLOSE): LinkState.CLOSED,
        (LinkState.GREETING, LinkSignal.CLOSE): LinkState.CLOSED,
        (LinkState.OPEN, LinkSignal.CLOSE): LinkState.CLOSED,
        (LinkState.RAW, LinkSignal.CLOSE): LinkState.CLOSED,
        (LinkState.CLOSED, LinkSignal.CLOSE): LinkState.CLOSED,
        (LinkState.CLOSED, LinkSignal.LOSE): LinkState.CLOSED,
    }
)

STREAM: Final[Mapping[tuple[StreamState, StreamSignal], StreamState]] = MappingProxyType(
    {
        (StreamState.STARTING, StreamSignal.STARTED): StreamState.OPEN,
        (StreamState.STARTING, StreamSignal.LOSE): StreamState.SUSPENDED,
        (StreamState.STARTING, StreamSignal.END): StreamState.ENDED,
        (StreamState.STARTING, StreamSignal.FAIL): StreamState.FAILED,
        (StreamState.OPEN, StreamSignal.STARTED): StreamState.OPEN,
        (StreamState.OPEN, StreamSignal.LOSE): StreamState.SUSPENDED,
        (StreamState.OPEN, StreamSignal.RESUME): StreamState.RESUMING,
        (StreamState.OPEN, StreamSignal.RESUMED): StreamState.OPEN,
        (StreamState.OPEN, StreamSignal.RESTART): StreamState.STARTING,
        (StreamState.OPEN, StreamSignal.END): StreamState.ENDED,
        (StreamState.OPEN, StreamSignal.FAIL): StreamState.FAILED,
        (StreamState.SUSPENDED, StreamSignal.LOSE): StreamState.SUSPENDED,
        (StreamState.SUSPENDED, StreamSignal.RESTART): StreamState.STARTING,
        (StreamState.SUSPENDED, StreamSignal.RESUME): StreamState.RESUMING,
        (StreamState.SUSPENDED, StreamSignal.RESUMED): StreamState.OPEN,
        (StreamState.SUSPENDED, StreamSignal.END): StreamState.ENDED,
        (StreamState.SUSPENDED, StreamSignal.FAIL): StreamState.FAILED,
        (StreamState.RESUMING, StreamSignal.RESTART): StreamState.STARTING,
        (StreamState.RESUMING, StreamSignal.RESUMED): StreamState.OPEN,
        (StreamState.RESUMING, StreamSignal.STARTED): StreamState.RESUMING,
        (StreamState.RESUMING, StreamSignal.LOSE): StreamState.SUSPENDED,
        (StreamState.RESUMING, StreamSignal.END): StreamState.ENDED,
        (StreamState.RESUMING, StreamSignal.FAIL): StreamState.FAILED,
    }
)

GREETING: Final = LinkState.GREETING
RAW: Final = LinkState.RAW
"""Asked for with every frame, which through the enumeration takes ten times as long."""

SENDING: Final = frozenset({StreamState.STARTING, StreamState.OPEN})
"""States in which a stream's entries may leave."""

OVER: Final = frozenset({StreamState.ENDED, StreamState.FAILED})
"""States that a stream never leaves."""

UP: Final = frozenset({LinkState.GREETING, LinkState.OPEN, LinkState.RAW})
"""States in which there is a connection that entries may leave by."""


def advance(table: Mapping[tuple[S, G], S], state: S, signal: G) -> S:
    """Return the state that `signal` leads to.

    Raises:
        UnexpectedMessage: If the table has no such step.
    """
    try:
        return table[state, signal]
    except KeyError:
        raise UnexpectedMessage(f"{signal} is not possible while {state}") from None
