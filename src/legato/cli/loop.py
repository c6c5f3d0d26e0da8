"""The event loop of a command: uvloop where it is; signals become exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

import typer

from legato.cli.entry import catch_early
from legato.cli.exits import ERR, Exit

T = TypeVar("T")

ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command in good order."""


@dataclass(slots=True)
class Interruption:
    """How a command is ended from outside.

    Attributes:
        gently: What the first Ctrl-C does instead of ending the command, or None.
        number: The signal that ended it, or 0.
    """

    gently: Callable[[], None] | None = None
    number: int = 0


def run(work: Coroutine[object, object, T], interruption: Interruption | None = None) -> T:
    """Run a command to its end.

    The first signal cancels it, so that it cleans up; the second kills it.

    Raises:
        LegatoError: If it failed.
        BrokenPipeError: If the reader of its output has left.
        typer.Exit: If it was interrupted.
    """
    interruption = interruption or Interruption()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_guarded(work, interruption))
    except asyncio.CancelledError:
        _leave(interruption.number)
    except KeyboardInterrupt:  # a loop that closes puts back the handler that raises it
        _leave(signal.SIGINT)
    finally:
        catch_early()


async def _guarded(work: Coroutine[object, object, T], interruption: Interruption) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  (a runner runs this)

    def end(number: signal.Signals) -> None:
        gently, interruption.gently = interruption.gently, None
        if gently is not None and number == signal.SIGINT:
            gently()
            return
        interruption.number = number
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows has no handlers in the loop
        for number in ENDING:
            loop.add_signal_handler(number, end, number)
    return await work


def _leave(number: int) -> NoReturn:
    if number in {signal.SIGINT, 0}:
        ERR.print("legato: interrupted")
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(128 + number)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on Windows, not in the light client
    except ImportError:
        return None
    return uvloop.new_event_loop
