"""Errors as they travel: `LegatoError` to the `error` message and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from legato.errors import CLIENT_ONLY, ERRORS, Internal, LegatoError
from legato.protocol.messages import Error

MAX_SENTENCE_CHARS: Final = 1000
"""Longer ones are cut: a sentence may quote what a hostile peer sent."""


def error_message(error: LegatoError, stream: int | None = None) -> Error:
    """Say `error` to the peer.

    A bug (`internal`), or an error that has no place on the wire, goes out without its details.

    Args:
        error: What happened.
        stream: Number of the stream concerned, or None for the session.
    """
    if error.code == Internal.code or isinstance(error, CLIENT_ONLY):
        return Error(code=Internal.code, message=Internal.advice, stream=stream)
    facts = error.facts()
    missing = facts.get("missing")
    return Error(
        code=error.code,
        message=error.message[:MAX_SENTENCE_CHARS],
        retryable=error.retryable,
        retry_after=error.retry_after,
        stream=stream,
        expected=facts.get("expected"),
        offer=facts.get("offer"),
        characters=facts.get("characters"),
        missing=(missing[0], missing[1]) if missing else None,
    )


def error_from(message: Error) -> LegatoError:
    """Return what the peer reported as the class of its code; `retryable` is as the peer said."""
    error = from_wire(
        message.code,
        message.message,
        retry_after=message.retry_after,
        retryable=message.retryable,
        facts={
            "expected": message.expected,
            "offer": message.offer,
            "characters": message.characters,
            "missing": message.missing,
        },
    )
    error.retryable = message.retryable
    return error


def from_wire(
    code: str,
    message: str,
    *,
    retry_after: float | None = None,
    retryable: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> LegatoError:
    """Build the error that a peer reported.

    Args:
        code: The wire code; one that is unknown here gives a plain `LegatoError`.
        message: The peer's sentence.
        retry_after: Seconds, if the peer named them.
        retryable: The peer's judgement, used only for unknown codes.
        facts: Extras as `LegatoError.facts` returns them; those a class does not know are dropped.

    Returns:
        An error whose `remote` is True.
    """
    if code not in ERRORS:
        error = LegatoError(message, retry_after=retry_after, remote=True)
        error.code = code
        error.retryable = retryable
        return error
    kind = ERRORS[code]
    known = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in (facts or {}).items()
        if name in kind.FACTS and value is not None
    }
    return kind(message, retry_after=retry_after, remote=True, **known)
