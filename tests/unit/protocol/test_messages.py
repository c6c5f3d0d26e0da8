from typing import get_args

from legato.protocol import messages
from legato.protocol.messages import ClientMessage, Message, ServerMessage

# The table of messages in the protocol, by who sends them.
CLIENT_ONLY = {
    "hello",
    "stream_start",
    "text",
    "flush",
    "finalize",
    "cancel",
    "stop",
    "resume",
}
SERVER_ONLY = {
    "welcome",
    "stream_started",
    "transcript",
    "utterance_end",
    "notice",
    "resumed",
    "draining",
    "error",
}
BOTH = {"ping", "pong", "ack", "flow_control", "switch_down", "switch_up", "stream_end"}


def types(union: object) -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in get_args(union)}


def test_each_side_sends_what_the_protocol_says() -> None:
    assert types(ClientMessage) == CLIENT_ONLY | BOTH
    assert types(ServerMessage) == SERVER_ONLY | BOTH


def test_every_message_can_be_imported_from_here() -> None:
    kinds = {*get_args(ClientMessage), *get_args(ServerMessage)}

    assert all(issubclass(kind, Message) for kind in kinds)
    assert all(getattr(messages, kind.__name__) is kind for kind in kinds)
