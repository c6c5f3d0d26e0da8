"""What goes wrong with an upstream, and what is to be done about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from legato.errors import (
    EngineFailed,
    EngineTimeout,
    EngineUnavailable,
    LegatoError,
    Overloaded,
)

MAX_EXCERPT: Final = 200
"""Characters of an upstream's own words that an error repeats."""


class Kind(Enum):
    """How a request to an upstream failed."""

    UNREACHABLE = auto()
    """No connection."""
    SLOW = auto()
    """No first byte in time."""
    STALLED = auto()
    """Nothing more in time, after the first byte."""
    BROKEN = auto()
    """An answer that is none: empty, cut off, reset, of the wrong kind, a status of 5xx."""
    BUSY = auto()
    """It has too much to do, or we ask too often."""
    DENIED = auto()
    """It does not know the key, or the account may not."""
    MISSING = auto()
    """It has no such route, model or voice."""
    UNFIT = auto()
    """It does not want this very request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """What follows from a kind of fault.

    Attributes:
        error: What the stream fails with, if nothing else helps.
        elsewhere: Whether another upstream may do better.
        counts: Whether it speaks against the upstream.
        for_good: Whether the next request there would fail too.
    """

    error: type[LegatoError]
    elsewhere: bool = True
    counts: bool = True
    for_good: bool = False


TREATMENTS: Final = {
    Kind.UNREACHABLE: Treatment(error=EngineUnavailable),
    Kind.SLOW: Treatment(error=EngineTimeout),
    Kind.STALLED: Treatment(error=EngineTimeout),
    Kind.BROKEN: Treatment(error=EngineFailed),
    Kind.BUSY: Treatment(error=Overloaded, counts=False),
    Kind.DENIED: Treatment(error=EngineUnavailable, for_good=True),
    Kind.MISSING: Treatment(error=EngineUnavailable, for_good=True),
    Kind.UNFIT: Treatment(error=EngineFailed, elsewhere=False, counts=False),
}

_STATUSES: Final = {
    400: Kind.UNFIT,
    401: Kind.DENIED,
    402: Kind.DENIED,
    403: Kind.DENIED,
    404: Kind.MISSING,
    405: Kind.MISSING,
    408: Kind.SLOW,
    409: Kind.BUSY,
    413: Kind.UNFIT,
    415: Kind.UNFIT,
    422: Kind.UNFIT,
    425: Kind.BUSY,
    429: Kind.BUSY,
    503: Kind.BUSY,
    504: Kind.SLOW,
}


class Fault(Exception):
    """A request to an upstream that failed.

    Attributes:
        kind: How.
        message: For a person and the log, without the upstream's address.
        words: What the upstream says itself, shortened; not for the log, as it may repeat text.
        retry_after: Seconds after which it wants to be asked again, if it said so.
    """

    def __init__(
        self, kind: Kind, message: str, *, words: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.words = " ".join(words.split())[:MAX_EXCERPT]
        self.retry_after = retry_after

    @property
    def treatment(self) -> Treatment:
        """What follows from it."""
        return TREATMENTS[self.kind]

    def error(self, engine: str) -> LegatoError:
        """Return the error with which a stream fails.

        Args:
            engine: Name of the engine, which the message begins with.
        """
        kind = self.treatment.error
        said = f": {self.words}" if self.words else ""
        return kind(f"{engine}: {self.message}{said}", retry_after=self.retry_after)


def of_status(status: int, said: str = "", *, retry_after: float | None = None) -> Fault:
    """Return the fault that an HTTP status other than 200 means.

    Args:
        status: Of the answer.
        said: What the upstream says about it; shortened.
        retry_after: Seconds of its Retry-After header.
    """
    kind = _STATUSES.get(status, Kind.UNFIT if 400 <= status < 500 else Kind.BROKEN)
    return Fault(
        kind,
        f"the upstream answers with status {status}",
        words=said,
        retry_after=retry_after,
    )
