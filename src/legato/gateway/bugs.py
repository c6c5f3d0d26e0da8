"""What a client is told nothing of, and whoever runs the server must know."""

from __future__ import annotations

from legato.errors import Internal, LegatoError
from legato.telemetry.logs import logger, trace_of

log = logger(__name__)


def note_bug(error: LegatoError) -> None:
    """Log an `internal` error with where it came from; others say what they are themselves."""
    if isinstance(error, Internal):
        cause = error.__cause__ or error
        log.error("stream failed by a bug", error=error.message, trace=trace_of(cause))
