"""Exit codes, and how a failure is told: one sentence, no traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import wraps
from types import MappingProxyType
from typing import Final, NoReturn, ParamSpec, TextIO

import typer
from rich.console import Console

from legato.errors import (
    AuthError,
    BusError,
    CapacityError,
    ConnectionLost,
    Draining,
    EngineError,
    LegatoError,
    RequestError,
)
from legato.telemetry.redaction import redacted

P = ParamSpec("P")


class PlainConsole(Console):
    """A console that leaves it to its caller what a reader who has left means."""

    def on_broken_pipe(self) -> None:
        """Raise again what rich would end the program for, with 1.

        Raises:
            BrokenPipeError: Always.
        """
        raise BrokenPipeError from sys.exception()


ERR: Final = PlainConsole(stderr=True, highlight=False, soft_wrap=True)


class Exit(IntEnum):
    """What a shell sees; docs/cli.md explains them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    BAD_INPUT = 3
    UNREACHABLE = 4
    ENGINE = 5
    BUSY = 6
    DENIED = 7
    CANNOT_LISTEN = 8
    NOT_INSTALLED = 9
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    TERMINATED = 143


BY_CODE: Final[Mapping[str, Exit]] = MappingProxyType(
    {
        "bad_certificate": Exit.USAGE,
        "bad_settings": Exit.USAGE,
        "bad_usage": Exit.USAGE,
        "cannot_listen": Exit.CANNOT_LISTEN,
        "cannot_write": Exit.BAD_INPUT,
        "device_unavailable": Exit.NOT_INSTALLED,
        "hub_refused": Exit.DENIED,
        "hub_unreachable": Exit.UNREACHABLE,
        "missing_extra": Exit.NOT_INSTALLED,
        "model_busy": Exit.BUSY,
        "port_in_use": Exit.CANNOT_LISTEN,
        "unknown_model": Exit.BAD_INPUT,
    }
)
"""Of errors that are never on the wire; their classes may not be imported here."""

_BY_CLASS: Final[tuple[tuple[type[LegatoError], Exit], ...]] = (
    (ConnectionLost, Exit.UNREACHABLE),
    (Draining, Exit.UNREACHABLE),
    (RequestError, Exit.BAD_INPUT),
    (EngineError, Exit.ENGINE),
    (CapacityError, Exit.BUSY),
    (BusError, Exit.UNREACHABLE),
    (AuthError, Exit.DENIED),
)


class BadUsage(LegatoError):
    """Options that do not go together (never on the wire)."""

    code = "bad_usage"
    advice = "See the command's --help."


def exit_for(error: LegatoError) -> Exit:
    """Return the exit code that tells `error` to a shell."""
    if error.code in BY_CODE:
        return BY_CODE[error.code]
    return next((code for kind, code in _BY_CLASS if isinstance(error, kind)), Exit.FAILED)


def plainly(command: Callable[P, None]) -> Callable[P, None]:
    """Have the failures of a command told in one sentence."""

    @wraps(command)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        with telling():
            command(*args, **kwargs)

    return told


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Tell what fails in the block in one sentence; a reader who has left is told nothing.

    Raises:
        typer.Exit: If something failed.
    """
    try:
        yield
    except LegatoError as error:
        fail(error)
    except BrokenPipeError:
        forget(sys.stdout, sys.stderr)
        raise typer.Exit(Exit.PIPE_CLOSED) from None


def forget(*streams: TextIO) -> None:
    """Keep the interpreter from flushing what cannot be written when it ends."""
    for stream in filter(None, streams):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def fail(error: LegatoError) -> NoReturn:
    """Tell a failure in one sentence and leave.

    Raises:
        typer.Exit: Always.
    """
    try:
        ERR.print(f"[bold red]legato:[/] {error.code}: ", end="")
        ERR.print(redacted(error.message), markup=False)
    except OSError:  # nobody can be told, but the exit code says it too
        forget(sys.stderr)
    raise typer.Exit(exit_for(error)) from error
