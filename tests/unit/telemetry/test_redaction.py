import pytest

from legato.telemetry.redaction import redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ws://user:pw@host:1/v1 is gone", "ws://***@host:1/v1 is gone"),
        ("'redis://:p@ss/wo:rd@host/0' fails", "'redis://***@host/0' fails"),
        ("ws://token@host", "ws://***@host"),
        ("ws://a:b@c and wss://d:e@f", "ws://***@c and wss://***@f"),
        ("ws://host/path", "ws://host/path"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_user_and_password_are_hidden_and_no_more(text: str, shown: str) -> None:
    assert redacted(text) == shown
