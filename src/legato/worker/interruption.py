"""Work that can be cut short by what happens beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


def nothing(result: object) -> None:
    """Leave a result as it is."""


class Interruptible:
    """Runs one piece of work after the other, each to its end or until it is cut."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None

    @property
    def runs(self) -> bool:
        """Whether there is something to cut."""
        return self._task is not None

    def cut(self) -> None:
        """Cancel what runs, if anything does."""
        if self._task is not None:
            self._task.cancel()

    async def run(
        self, work: Coroutine[None, None, T], *, undo: Callable[[T], None] = nothing
    ) -> asyncio.Task[T]:
        """Do `work`; return its task, which is done: cancelled if it was cut.

        If the caller is cancelled meanwhile, so is the work, and it has ended by then.

        Args:
            work: To do.
            undo: Takes a result that came when nobody wanted it any more.
        """
        task = asyncio.create_task(work)
        self._task = task
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            if not task.cancelled() and task.exception() is None:
                undo(task.result())
            raise
        finally:
            self._task = None
        if not task.cancelled():
            task.exception()  # it counts as seen, whatever the caller does
        return task
