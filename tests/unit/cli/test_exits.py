import io
import os
import sys

import pytest
import typer

from legato.cli import entry
from legato.cli.exits import (
    BY_CODE,
    Exit,
    PlainConsole,
    exit_for,
    fail,
    forget,
    plainly,
    telling,
)
from legato.errors import CLIENT_ONLY, ERRORS, BadAudio, ConnectionLost, LegatoError


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("bad_audio", Exit.BAD_INPUT),
        ("unsupported_text", Exit.BAD_INPUT),
        ("engine_failed", Exit.ENGINE),
        ("overloaded", Exit.BUSY),
        ("unauthenticated", Exit.DENIED),
        ("bus_unavailable", Exit.UNREACHABLE),
        ("draining", Exit.UNREACHABLE),
        ("internal", Exit.FAILED),
        ("malformed_message", Exit.FAILED),
    ],
)
def test_an_error_has_an_exit_code(code: str, expected: Exit) -> None:
    assert exit_for(ERRORS[code]()) is expected


def test_no_error_of_the_wire_has_the_code_of_a_command() -> None:
    assert not BY_CODE.keys() & ERRORS.keys()
    assert exit_for(ConnectionLost()) is Exit.UNREACHABLE
    assert {kind.code for kind in CLIENT_ONLY} == {"connection_lost"}


def test_an_error_that_only_a_command_knows_goes_by_its_code() -> None:
    error = LegatoError("taken")
    error.code = "port_in_use"

    assert exit_for(error) is Exit.CANNOT_LISTEN


def test_a_failure_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught:
        fail(BadAudio("x.wav: has [no] audio in it, and a name that goes on and on " * 3))

    told = capsys.readouterr().err
    assert caught.value.exit_code == Exit.BAD_INPUT
    assert told.startswith("legato: bad_audio: x.wav: has [no] audio")
    assert told.count("\n") == 1


def test_a_command_that_fails_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Docstring."""

    def command(name: str) -> None:
        """What it does."""
        raise BadAudio(name)

    told = plainly(command)

    with pytest.raises(typer.Exit):
        told("x.wav")
    assert told.__doc__ == "What it does."
    assert "x.wav" in capsys.readouterr().err


def test_no_failure_tells_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        fail(ConnectionLost("ws://me:open-sesame@host:1/v1/stream cannot be reached"))

    assert capsys.readouterr().err == (
        "legato: connection_lost: ws://***@host:1/v1/stream cannot be reached\n"
    )


def test_a_reader_who_has_left_is_no_failure_to_tell(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    with pytest.raises(typer.Exit) as caught, telling():
        raise BrokenPipeError

    assert caught.value.exit_code == Exit.PIPE_CLOSED
    assert capfd.readouterr() == ("", "")


def test_a_closed_pipe_is_forgotten() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        stream.write("nobody reads this")
        forget(stream)
        stream.flush()


def test_a_console_leaves_a_broken_pipe_to_its_caller() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        with pytest.raises(BrokenPipeError):
            PlainConsole(file=stream).print("nobody reads this")
        forget(stream)


def test_the_first_moments_agree_with_the_rest() -> None:
    assert Exit(entry.INTERRUPTED) is Exit.INTERRUPTED
