import msgspec
import pytest

from legato.protocol.fields import (
    MAX_NUMBER,
    MAX_POSITION,
    Digest,
    EndpointingSettings,
    Heartbeat,
    LastSeq,
    Limits,
    Number,
    Period,
    Position,
    Seconds,
)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Number, 0),
        (Number, MAX_NUMBER),
        (LastSeq, -1),
        (LastSeq, MAX_NUMBER),
        (Position, 0),
        (Position, MAX_POSITION),
        (Seconds, 0.0),
        (Period, 1e-9),
        (Digest, "0123456789abcdef" * 4),
    ],
)
def test_a_value_at_the_bound_is_taken(kind: object, value: object) -> None:
    assert msgspec.convert(value, kind) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Number, -1),
        (Number, MAX_NUMBER + 1),
        (LastSeq, -2),
        (LastSeq, MAX_NUMBER + 1),
        (Position, -1),
        (Position, MAX_POSITION + 1),
        (Seconds, -1e-9),
        (Period, 0.0),
        (Digest, "0123456789ABCDEF" * 4),
        (Digest, "0" * 63),
        (Digest, "0" * 64 + "\n"),
    ],
)
def test_a_value_beyond_the_bound_is_refused(kind: object, value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, kind)


def test_the_defaults_are_those_of_the_protocol() -> None:
    assert (Limits().resume_window, Limits().max_message_bytes) == (30.0, 256 * 1024)
    assert (Heartbeat().idle, Heartbeat().active) == (30.0, 2.0)
    assert EndpointingSettings().silence == 0.5
