"""Work of seconds to hours in a thread: a bar for a person, and Ctrl-C ends it in good order."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from legato.cli.exits import ERR
from legato.cli.loop import run
from legato.errors import LegatoError

if TYPE_CHECKING:
    from legato.engines.models.records import FileRecord, Manifest

T = TypeVar("T")


class Bar:
    """Bytes done of bytes to do; without a terminal a line at the begin.

    Args:
        what: Is done.
        quiet: Whether to show nothing at all.
        console: Where.
    """

    def __init__(self, what: str, *, quiet: bool = False, console: Console = ERR) -> None:
        self._what = what
        self._quiet = quiet
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, size_bytes: int) -> None:
        """Take how much there is to do."""
        self._progress.update(self._task, total=size_bytes)

    def listed(self, manifest: Manifest) -> None:
        """Take what is to be fetched."""
        self.begin(manifest.size_bytes)
        if not self._quiet and not self._console.is_terminal:
            size = f"{len(manifest.files)} files, {decimal(manifest.size_bytes)}"
            self._console.print(f"legato: {self._what}: {size}", markup=False)

    def moved(self, size_bytes: int) -> None:
        """Take bytes that are done; negative where some must be done anew."""
        self._progress.advance(self._task, size_bytes)

    def done(self, record: FileRecord) -> None:
        """Take a file that is whole."""
        self._progress.update(self._task, description=f"{self._what}: {record.path[-40:]}")


def in_thread(work: Callable[[], T], stop: threading.Event, kept: Callable[[], str]) -> T:
    """Do blocking work; a signal stops it and says what is kept.

    Args:
        work: Ends soon after `stop` is set.
        stop: Set by the signal.
        kept: Returns what to say then.

    Raises:
        LegatoError: If the work failed.
        typer.Exit: If it was interrupted.
    """
    return run(_until_stopped(work, stop, kept))


async def _until_stopped(
    work: Callable[[], T], stop: threading.Event, kept: Callable[[], str]
) -> T:
    from legato.engines.models.faults import Stopped

    task = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        with contextlib.suppress(Stopped, LegatoError):
            await task
        ERR.print(f"legato: {kept()}", markup=False)
        raise
