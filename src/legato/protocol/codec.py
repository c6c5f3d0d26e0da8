"""Control messages as text on the wire: JSON in, declared messages out, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar, get_args

import msgspec

from legato.errors import MalformedMessage, MessageTooLarge, UnexpectedMessage
from legato.protocol.identifiers import check_stream_id
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    ClientMessage,
    Error,
    Message,
    Resume,
    ServerMessage,
    StreamStart,
)

MAX_NESTING: Final = 16
"""Levels of objects and arrays in `options` and `offer`; more would overflow someone's stack."""

INT64_MIN: Final = -(2**63)
UINT64_MAX: Final = 2**64 - 1
"""Whole numbers outside do not fit into MessagePack, in which the bus keeps them."""

_SHOWN_CHARS: Final = 300

_T = TypeVar("_T", bound=Message)


class _Tagged(msgspec.Struct):
    type: str


_CLIENT = msgspec.json.Decoder(ClientMessage)
_SERVER = msgspec.json.Decoder(ServerMessage)
_TAGGED = msgspec.json.Decoder(_Tagged)
_ENCODER = msgspec.json.Encoder()


def _types(union: object) -> frozenset[str]:
    return frozenset(str(kind.__struct_config__.tag) for kind in get_args(union))


CLIENT_TYPES: Final = _types(ClientMessage)
"""The `type` of every message that a client may send."""

SERVER_TYPES: Final = _types(ServerMessage)
"""The `type` of every message that a server may send."""


def decode_client(text: str | bytes) -> ClientMessage:
    """Read a text message from a client.

    Args:
        text: One JSON object; unknown fields are ignored.

    Raises:
        MalformedMessage: If it is not JSON in UTF-8, or a field has the wrong type or range; the
            sentence holds the JSON path.
        UnexpectedMessage: If no message of a client has this `type`.
        MessageTooLarge: If it is above `MAX_MESSAGE_BYTES`.
    """
    return _decode(text, _CLIENT, "client")


def decode_server(text: str | bytes) -> ServerMessage:
    """Read a text message from a server; arguments and errors as in `decode_client`."""
    return _decode(text, _SERVER, "server")


def encode(message: Message) -> str:
    """Write `message` as it goes over the wire.

    Raises:
        MalformedMessage: If it holds what JSON has no word for: NaN, infinity, a lone surrogate,
            a Python object in `options`.
        MessageTooLarge: If it is above `MAX_MESSAGE_BYTES`.
    """
    try:
        data = _ENCODER.encode(message)
        # The encoder writes NaN and infinity as null, which would be another message.
        finite = b"null" not in data or _is_finite(msgspec.structs.asdict(message))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MalformedMessage(f"{_name(message)} cannot be written as JSON: {error}") from error
    if len(data) > MAX_MESSAGE_BYTES:
        raise _too_large(len(data))
    if not finite:
        raise MalformedMessage(f"{_name(message)} holds a number that is not finite")
    return data.decode()


def _decode(text: str | bytes, decoder: msgspec.json.Decoder[_T], sender: str) -> _T:
    if len(text) > MAX_MESSAGE_BYTES:
        raise _too_large(len(text))
    try:
        # As bytes: a str is cached as UTF-8 in the object, and its length is not its size.
        data = text.encode() if isinstance(text, str) else text
        if len(data) > MAX_MESSAGE_BYTES:
            raise _too_large(len(data))
        message = decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _refusal(data, error, sender) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise MalformedMessage(f"message is not JSON in UTF-8: {error}") from error
    except RecursionError as error:
        raise MalformedMessage("message is nested too deeply") from error
    check = _CHECKS.get(type(message))
    if check is not None:
        check(message)
    return message


def _too_large(size_bytes: int) -> MessageTooLarge:
    return MessageTooLarge(
        f"message of {size_bytes} bytes is above the limit of {MAX_MESSAGE_BYTES}"
    )


def _name(message: Message) -> str:
    return str(message.__struct_config__.tag)


def _refusal(
    data: bytes, error: msgspec.ValidationError, sender: str
) -> MalformedMessage | UnexpectedMessage:
    reason = str(error)
    if len(reason) > _SHOWN_CHARS:
        # The value comes first and the path last, and the path matters more.
        reason = f"{reason[: _SHOWN_CHARS // 2]}...{reason[-_SHOWN_CHARS // 2 :]}"
    try:
        kind = _TAGGED.decode(data).type
    except (msgspec.DecodeError, RecursionError):
        return MalformedMessage(f"message: {reason}")
    ours, theirs = (
        (CLIENT_TYPES, SERVER_TYPES) if sender == "client" else (SERVER_TYPES, CLIENT_TYPES)
    )
    if kind in ours:
        return MalformedMessage(f"{kind}: {reason}")
    if kind in theirs:
        return UnexpectedMessage(f"`{kind}` is never sent by the {sender}")
    return UnexpectedMessage(f"no message has type {kind[:64]!a}; see docs/protocol.md")


def _is_finite(value: object) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(map(_is_finite, value.values()))
        case list() | tuple() | set() | frozenset():
            return all(map(_is_finite, value))
        case msgspec.Struct():
            return _is_finite(msgspec.structs.asdict(value))
    return True


def _check_values(value: object, path: str) -> None:
    """See that a free field can be written down again, by the bus as well as on the wire."""
    level: list[object] = [value]
    for _ in range(MAX_NESTING):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
        if any(isinstance(item, int) and not INT64_MIN <= item <= UINT64_MAX for item in level):
            raise MalformedMessage(f"a whole number of more than 64 bits - at `{path}`")
    raise MalformedMessage(f"more than {MAX_NESTING} levels of nesting - at `{path}`")


_CHECKS: Mapping[type[Message], Callable[..., object]] = MappingProxyType(
    {
        StreamStart: lambda message: _check_values(message.options, "$.options"),
        Resume: lambda message: check_stream_id(message.stream_id),
        Error: lambda message: _check_values(message.offer, "$.offer"),
    }
)
"""What the types of the fields cannot say. A `stream_start` is judged by its stream otherwise, so
that a refusal names the stream and what is in flight for it is dropped (rule 1)."""
