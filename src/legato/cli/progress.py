"""One line on standard error that says how far a long work is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from legato.cli.exits import ERR


class Progress:
    """Seconds of audio done so far, shown only to a person.

    Args:
        verb: What is done, such as "said".
        shown: Whether to show anything at all.
        console: Where.
    """

    def __init__(self, verb: str, *, shown: bool, console: Console = ERR) -> None:
        self._verb = verb
        self._status: Status | None = None
        if shown and console.is_terminal:
            self._status = console.status(f"{verb} 0.0 s")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, seconds: float, note: str = "") -> None:
        """Show how much is done, and what is at hand."""
        if self._status is not None:
            self._status.update(f"{self._verb} {seconds:.1f} s  [dim]{escape(note[-60:])}[/]")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away for as long as the block writes to standard output."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()
