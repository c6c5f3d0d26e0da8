"""One gRPC call that answers with a stream; needs grpcio."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from google.protobuf.message import Message

from legato.engines.installation import require
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.silence import Silence

M = TypeVar("M", bound=Message)

EXTRA: Final = "grpc"
SCHEMES: Final = ("grpc", "grpcs")
MAX_MESSAGE_BYTES: Final = 64 << 20
"""Of a chunk of audio: 10 minutes."""

_KINDS: Final = {
    "UNAVAILABLE": Kind.UNREACHABLE,
    "RESOURCE_EXHAUSTED": Kind.BUSY,
    "UNAUTHENTICATED": Kind.DENIED,
    "PERMISSION_DENIED": Kind.DENIED,
    "NOT_FOUND": Kind.MISSING,
    "UNIMPLEMENTED": Kind.MISSING,
    "INVALID_ARGUMENT": Kind.UNFIT,
    "OUT_OF_RANGE": Kind.UNFIT,
    "FAILED_PRECONDITION": Kind.UNFIT,
    "DEADLINE_EXCEEDED": Kind.SLOW,
}
"""What a status means; any other is the server's fault."""


def check() -> None:
    """Look for grpcio.

    Raises:
        EngineUnavailable: If it is missing; names the line that adds it.
    """
    require("grpc", extra=EXTRA)


def stream(
    attempt: Attempt[str],
    method: str,
    messages: Iterator[Message],
    answer: type[M],
    *,
    idle: float,
    many: bool = False,
) -> Iterator[M]:
    """Yield the answers to a call.

    Args:
        attempt: Where, until when.
        method: Such as `/package.Service/Method`.
        messages: What is sent; one, unless `many`.
        answer: Type of the answers.
        idle: Seconds between two of them.
        many: Whether the method takes a stream.

    Raises:
        Fault: If the call fails, or nothing comes in time.
    """
    import grpc  # slow to import, and optional

    with _channel(grpc, attempt.endpoint) as channel:
        options: dict[str, Any] = {
            "request_serializer": lambda message: message.SerializeToString(),
            "response_deserializer": answer.FromString,
        }
        call = (
            channel.stream_stream(method, **options)(messages)
            if many
            else channel.unary_stream(method, **options)(next(messages))
        )
        silence = Silence(call.cancel)
        try:
            with attempt.cancellation.stopping(call.cancel), silence:
                silence.until(attempt.deadline)
                for message in call:
                    silence.until(None)
                    yield message
                    silence.until(time.monotonic() + idle)
        except grpc.RpcError as error:
            raise _fault(error.code().name, error.details(), silence) from error
        finally:
            call.cancel()


def _channel(grpc: Any, url: str) -> Any:
    parts = urlsplit(url)
    target = f"{parts.hostname}:{parts.port or 443}"
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if parts.scheme == "grpcs":
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)
    return grpc.insecure_channel(target, options)


def _fault(status: str, details: str | None, silence: Silence) -> Fault:
    if silence.broken:
        kind = Kind.STALLED if silence.heard else Kind.SLOW
        return Fault(kind, "the upstream did not go on in time")
    kind = _KINDS.get(status, Kind.BROKEN)
    return Fault(kind, f"the upstream answers with status {status}", words=details or "")
