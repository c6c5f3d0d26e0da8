"""Every way to fail: one class per code, the same on the wire, in Python and in the close frame.

`ERRORS` is the append-only table; the page `docs/errors.md` is made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar


class LegatoError(Exception):
    """Root of all errors that Legato raises or reports.

    A code that this version does not know arrives as plain `LegatoError` with `code` set.

    Attributes:
        code: Stable name on the wire.
        close_code: WebSocket close code if the error ends the connection, else None.
        retryable: Whether the same request may succeed later.
        advice: What the reader can do about it.
        retry_after: Seconds to wait before a retry, if the raiser knows.
        remote: Whether the peer reported it (True) or it was raised here (False).
        FACTS: Names of the attributes that travel with the code.

    Raises:
        TypeError: If a fact is given that the class does not have.
    """

    code: str = "internal"
    close_code: ClassVar[int | None] = None
    retryable: bool = False
    advice: ClassVar[str] = "Report it with the server's log line of the same time."
    FACTS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: float | None = None,
        remote: bool = False,
        **facts: object,
    ) -> None:
        super().__init__(message or self.advice)
        self.retry_after = retry_after
        self.remote = remote
        for name, value in facts.items():
            if name not in self.FACTS:
                raise TypeError(f"{type(self).__name__} has no fact {name!r}")
            setattr(self, name, value)

    @property
    def message(self) -> str:
        """The sentence for a person, without the code."""
        return str(self.args[0])

    def facts(self) -> dict[str, Any]:
        """Return the machine-readable extras that travel with the code, those that are set."""
        values = {name: getattr(self, name) for name in self.FACTS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value not in (None, "", {})
        }


class ProtocolError(LegatoError):
    """A message that breaks the rules of the wire."""

    close_code = 4400


class MalformedMessage(ProtocolError):
    """Bytes that are no message: broken JSON, protobuf or UTF-8, or a field of the wrong type."""

    code = "malformed_message"
    advice = "Compare the message with docs/protocol.md; the text says which field is wrong."


class UnexpectedMessage(ProtocolError):
    """A valid message at the wrong time, or of an unknown type."""

    code = "unexpected_message"
    advice = "Send hello first, then stream_start, then data; nothing after stream_end."


class UnsupportedVersion(ProtocolError):
    """The peer speaks another version of the protocol."""

    code = "unsupported_version"
    advice = "Update the older side; the text names the versions spoken here."


class MessageTooLarge(ProtocolError):
    """A message above the limit announced in welcome."""

    code = "message_too_large"
    close_code = 1009
    advice = "Split text and audio into messages below the limit named in welcome."


class AuthError(LegatoError):
    """Who asks is unknown or not allowed."""


class Unauthenticated(AuthError):
    """No key, or one that is not valid."""

    code = "unauthenticated"
    close_code = 4401
    advice = "Send a valid key in the Authorization header or in hello."


class Forbidden(AuthError):
    """The key is valid but does not allow this."""

    code = "forbidden"
    close_code = 4403
    advice = "Ask the operator for a key with this right."


class RequestError(LegatoError):
    """A request that cannot be carried out as it stands; only its stream ends."""


class UnknownVoice(RequestError):
    """No engine here has this voice."""

    code = "unknown_voice"
    advice = "List the voices with `legato voices`."


class UnknownEngine(RequestError):
    """No engine of this name for this task."""

    code = "unknown_engine"
    advice = "List the engines with `legato voices` or GET /v1/engines."


class UnsupportedFormat(RequestError):
    """A codec, sample rate or channel count that cannot be served."""

    code = "unsupported_format"
    advice = "Use pcm_s16le, 8000 to 48000 Hz, 1 or 2 channels."


class UnsupportedText(RequestError):
    """Text that no engine at hand can speak.

    Attributes:
        characters: The offending characters, distinct, in order.
    """

    code = "unsupported_text"
    advice = "Remove the characters, or add an engine that speaks their script."
    FACTS = ("characters",)
    characters: str = ""


class TextTooLong(RequestError):
    """More text than the limits allow."""

    code = "text_too_long"
    advice = "Split the text over several utterances."


class BadAudio(RequestError):
    """Audio that is not what was declared, or cannot be decoded."""

    code = "bad_audio"
    advice = "Send whole sample frames of the declared format, or a file that FFmpeg can read."


class VoiceExists(RequestError):
    """The tenant has a voice of this name, or an engine has."""

    code = "voice_exists"
    advice = "Choose another name, or remove the voice first."


class TooManyVoices(RequestError):
    """The tenant has as many voices of its own as it may."""

    code = "too_many_voices"
    advice = "Remove a voice, or have the operator raise gateway.max_voices."


class ConsentRequired(RequestError):
    """A recording of a voice came without the word that its speaker agrees."""

    code = "consent_required"
    advice = "Ask the speaker; then say so with consent=true."


class StreamExists(RequestError):
    """A stream of this id exists with other parameters, or was deleted moments ago."""

    code = "stream_exists"
    advice = "Use a fresh stream_id, or resume the running stream with its token."


class UnsupportedOption(RequestError):
    """An option that the engine does not have, or a value that it does not take."""

    code = "unsupported_option"
    advice = "Leave the option out, or name an engine that has it; GET /v1/engines lists them."


class CapacityError(LegatoError):
    """Too much at once; wait and try again."""

    retryable = True


class Overloaded(CapacityError):
    """No room for another stream now.

    Attributes:
        offer: What would be accepted instead, such as {"streaming": False}.
    """

    code = "overloaded"
    close_code = 4503
    advice = "Wait retry_after seconds, or take the offer."
    FACTS = ("offer",)
    offer: Mapping[str, Any] | None = None


class RateLimited(CapacityError):
    """More was sent than credit or quota allows."""

    code = "rate_limited"
    close_code = 4429
    advice = "Send no further than the credit in the last ack."


class SlowConsumer(CapacityError):
    """The peer does not read what it asked for."""

    code = "slow_consumer"
    close_code = 4408
    advice = "Read from the connection at least as fast as the audio plays."


class SessionError(LegatoError):
    """The connection or the stream's continuity is at fault."""


class SequenceGap(SessionError):
    """A numbered entry is missing before this one.

    Attributes:
        expected: The sequence number to continue from.
    """

    code = "sequence_gap"
    retryable = True
    advice = "Resend from the expected number; nothing after it was taken."
    FACTS = ("expected",)
    expected: int = 0


class SessionExpired(SessionError):
    """The stream is not known here: never was, ended, or its resume window passed."""

    code = "session_expired"
    close_code = 4404
    advice = "Start a new stream; resume within the window named in welcome."


class ResumeGap(SessionError):
    """Part of the stream is kept by neither side any more.

    Attributes:
        missing: The lost range [from, to) in samples, or in sequence numbers for text.
    """

    code = "resume_gap"
    advice = "Send the missing range again from its source, if you still have it."
    FACTS = ("missing",)
    missing: tuple[int, int] | None = None


class SessionReplaced(SessionError):
    """Another connection resumed the stream."""

    code = "session_replaced"
    close_code = 4409
    advice = "Use the newer connection."


class IdleTimeout(SessionError):
    """Nothing was heard from the peer for too long."""

    code = "idle_timeout"
    close_code = 4410
    advice = "Answer pings; open a stream within the time named in welcome."


class Draining(SessionError):
    """The server is going away in good order."""

    code = "draining"
    close_code = 1012
    retryable = True
    advice = "Reconnect at once; another server takes over."


class EngineError(LegatoError):
    """An engine did not do its work; other streams are untouched."""

    retryable = True


class EngineFailed(EngineError):
    """The engine raised or its process died."""

    code = "engine_failed"
    advice = "Try again; if the same input fails again, report it with the engine's name."


class EngineTimeout(EngineError):
    """The engine made no progress for too long."""

    code = "engine_timeout"
    advice = "Try again; raise worker.engine_timeout if the engine is merely slow."


class EngineUnavailable(EngineError):
    """The engine is not installed, not loaded, or its weights are missing."""

    code = "engine_unavailable"
    advice = "Run `legato doctor`; it names the line that installs what is missing."


class BusError(LegatoError):
    """The bus between gateways and workers is at fault."""

    retryable = True


class BusUnavailable(BusError):
    """The bus does not answer."""

    code = "bus_unavailable"
    advice = "Check the address given with --bus and that the server runs."


class EpochChanged(BusError):
    """The bus lost the stream's history."""

    code = "epoch_changed"
    advice = "Resume; resumed.missing says what was lost."


class Internal(LegatoError):
    """A bug: logged with its traceback, shown without details."""

    code = "internal"
    close_code = 1011


class ConnectionLost(LegatoError):
    """The connection broke or could not be made (client only, never on the wire)."""

    code = "connection_lost"
    retryable = True
    advice = "Check the address and that the server runs; `legato serve` starts one."


CLIENT_ONLY: tuple[type[LegatoError], ...] = (ConnectionLost,)
"""Errors that never travel."""


def _with_code(kind: type[LegatoError]) -> Iterator[type[LegatoError]]:
    for child in kind.__subclasses__():
        if "code" in vars(child) and child not in CLIENT_ONLY:
            yield child
        yield from _with_code(child)


ERRORS: Mapping[str, type[LegatoError]] = MappingProxyType(
    {error.code: error for error in _with_code(LegatoError)}
)
"""Wire code → class: every class of this module that travels; codes are never reused."""
