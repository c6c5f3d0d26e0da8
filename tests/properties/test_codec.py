import json
import math
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legato.errors import LegatoError
from legato.protocol.codec import CLIENT_TYPES, SERVER_TYPES, decode_client, decode_server, encode
from legato.protocol.faults import error_from, error_message
from legato.protocol.messages import ClientMessage, Error, Message, ServerMessage
from tests.properties.declared import json_values, messages, text

KINDS = sorted({*get_args(ClientMessage), *get_args(ServerMessage)}, key=lambda kind: kind.__name__)
CODES = {"malformed_message", "unexpected_message", "message_too_large"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)  # for each of the thirty
@given(data=st.data())
def test_a_message_arrives_as_it_was_sent(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(kind))
    wire = encode(message)

    if kind in get_args(ClientMessage):
        assert decode_client(wire) == decode_client(wire.encode()) == message
    if kind in get_args(ServerMessage):
        assert decode_server(wire) == decode_server(wire.encode()) == message


@given(message=messages(Error))
def test_any_error_message_can_be_raised(message: Message) -> None:
    assert isinstance(message, Error)
    error = error_from(message)

    assert error.remote
    assert error_message(error, message.stream).code == message.code


def refusals(data: str | bytes) -> list[LegatoError]:
    """What the decoders raise; a message that they accept can be passed on unchanged."""
    raised = []
    for decode in (decode_client, decode_server):
        try:
            message = decode(data)
        except LegatoError as error:
            raised.append(error)
        else:
            assert decode(encode(message)) == message
    return raised


def is_clear(error: LegatoError) -> bool:
    return error.code in CODES and 0 < len(error.message) < 500


@given(data=st.one_of(st.binary(), st.text(), st.text(st.characters())))
def test_no_bytes_or_text_crash_the_decoders(data: str | bytes) -> None:
    assert all(map(is_clear, refusals(data)))


FIELDS = sorted({field.name for kind in KINDS for field in msgspec.structs.fields(kind)})
odd_values = (
    json_values
    | st.integers(-(10**30), 10**30)
    | st.sampled_from([math.nan, math.inf, -1, 2**32, 2**53, "a", "../..", "\ud800"])
)


@given(
    kind=st.sampled_from(sorted(CLIENT_TYPES | SERVER_TYPES)) | text | odd_values,
    fields=st.dictionaries(st.sampled_from(FIELDS) | text, odd_values, max_size=6),
)
def test_no_object_crashes_the_decoders(kind: object, fields: dict[str, object]) -> None:
    assert all(map(is_clear, refusals(json.dumps({**fields, "type": kind}))))


@given(data=st.data())
def test_a_damaged_message_crashes_no_decoder(data: st.DataObject) -> None:
    whole = bytearray(encode(data.draw(messages(data.draw(st.sampled_from(KINDS))))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))

    assert all(map(is_clear, refusals(bytes(whole)) + refusals(bytes(whole[:cut]))))
