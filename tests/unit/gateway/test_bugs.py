import pytest

from legato.errors import Internal, Overloaded
from legato.gateway.bugs import note_bug


def test_a_bug_is_logged_with_what_its_client_is_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    note_bug(Internal("Redis says: what nobody knows"))
    assert "what nobody knows" in caplog.text


def test_what_a_bug_came_from_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    said = "what somebody said"
    try:
        int(said)
    except ValueError as error:
        bug = Internal()
        bug.__cause__ = error
    note_bug(bug)
    assert "ValueError" in caplog.text
    assert said not in caplog.text


def test_what_is_no_bug_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    note_bug(Overloaded("no room"))
    assert caplog.text == ""
