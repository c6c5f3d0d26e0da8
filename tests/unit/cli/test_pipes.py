import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.text import Text

from legato.cli.exits import BadUsage
from legato.cli.pipes import CannotWrite, emit, is_terminal, show, stdin, stdout

FULL = Path("/dev/full")


def test_closed_streams_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)

    with pytest.raises(BadUsage, match="standard input is closed"):
        stdin()
    with pytest.raises(CannotWrite, match="standard output is closed"):
        stdout()
    assert not is_terminal()


def test_streams_are_used_without_their_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw))

    assert stdin() is stdout() is raw


def print_text() -> None:
    emit("x" * 100_000)


def show_text() -> None:
    show(Text("x" * 100_000))


EITHER = pytest.mark.parametrize("write", [print_text, show_text])


@pytest.fixture
def spare_descriptor() -> Iterator[int]:
    """One that may be turned to nowhere without any harm to the test run's own output."""
    number = os.open(os.devnull, os.O_WRONLY)
    yield number
    os.close(number)


def output_to(monkeypatch: pytest.MonkeyPatch, number: int, encoding: str = "utf-8") -> None:
    stream = os.fdopen(number, "w", encoding=encoding, closefd=False)
    monkeypatch.setattr(sys, "stdout", stream)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@EITHER
def test_a_full_place_is_told_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, spare_descriptor: int, write: Callable[[], None]
) -> None:
    with FULL.open("wb") as full:
        os.dup2(full.fileno(), spare_descriptor)
    output_to(monkeypatch, spare_descriptor)

    with pytest.raises(CannotWrite, match="standard output cannot be written: No space left"):
        write()
    sys.stdout.flush()


@EITHER
def test_a_reader_who_has_left_is_not_taken_for_a_full_place(
    monkeypatch: pytest.MonkeyPatch, spare_descriptor: int, write: Callable[[], None]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, spare_descriptor)
    os.close(writing)
    output_to(monkeypatch, spare_descriptor)

    with pytest.raises(BrokenPipeError):
        write()


def test_what_the_encoding_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, spare_descriptor: int
) -> None:
    output_to(monkeypatch, spare_descriptor, encoding="latin-1")

    with pytest.raises(CannotWrite, match=r"takes latin-1, which has no '\\u20ac'; set PYTHONIO"):
        emit("5 \u20ac")
