"""Standard input and output as the commands use them: unbuffered, and perhaps not there."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import BinaryIO, Final

from legato.cli.exits import BadUsage
from legato.errors import LegatoError

STDIN: Final = "-"
STDOUT: Final = "-"


class CannotWrite(LegatoError):
    """A file cannot be written (never on the wire)."""

    code = "cannot_write"
    advice = "Choose another place with -o."


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


def forget_stdout() -> None:
    """Keep the interpreter from flushing into a closed pipe when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
