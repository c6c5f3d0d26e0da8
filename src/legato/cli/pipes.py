"""Standard input and output as the commands use them: unbuffered, and perhaps not there."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

import typer
from rich.console import RenderableType

from legato.cli.exits import BadUsage, PlainConsole, forget
from legato.errors import LegatoError

STDIN: Final = "-"
STDOUT: Final = "-"


class CannotWrite(LegatoError):
    """A file cannot be written (never on the wire)."""

    code = "cannot_write"
    advice = "Choose another place for the output."


def stdin() -> BinaryIO:
    """Return standard input without its buffer, whose lock a blocked thread would keep for ever.

    Raises:
        BadUsage: If it is closed.
    """
    if sys.stdin is None:
        raise BadUsage("standard input is closed")
    raw: BinaryIO = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    return raw


def stdout() -> BinaryIO:
    """Return standard output without its buffer, for the same reason.

    Raises:
        CannotWrite: If it is closed.
    """
    if sys.stdout is None:
        raise CannotWrite("standard output is closed")
    raw: BinaryIO = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
    return raw


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Say that standard output cannot be written if that is why the block fails.

    Raises:
        CannotWrite: If it cannot be.
        BrokenPipeError: If its reader has left.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        forget(sys.stdout)
        raise CannotWrite(
            f"standard output cannot be written: {error.strerror or error}"
        ) from error
    except UnicodeEncodeError as error:
        raise CannotWrite(
            f"standard output takes {error.encoding}, which has no"
            f" {error.object[error.start]!a}; set PYTHONIOENCODING=utf-8"
        ) from error


def emit(text: str, *, end: str = "\n") -> None:
    """Write text to standard output, at once.

    Raises:
        CannotWrite: If it cannot be written.
        BrokenPipeError: If its reader has left.
    """
    with writing():
        typer.echo(text + end, nl=False)


def show(*what: RenderableType, console: PlainConsole | None = None) -> None:
    """Write tables and lines for a person to standard output.

    Args:
        what: Each on lines of its own.
        console: Where; by default one as wide as the terminal.

    Raises:
        CannotWrite: If it cannot be written.
        BrokenPipeError: If its reader has left.
    """
    console = console or PlainConsole()
    with writing():
        for one in what:
            console.print(one)
