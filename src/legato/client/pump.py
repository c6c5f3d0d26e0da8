"""Ordinary iterators in an event loop: each runs in a thread of its own and blocks nobody."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

AHEAD: Final = 8
"""Items that the thread may be ahead of its reader."""

_END: Final = object()


class Pump(AsyncIterator[T], Generic[T]):
    """An async iterator over an ordinary one that may block, such as a pipe or a model's output.

    The thread is a daemon: one that blocks in a read for ever keeps no program from ending.

    Args:
        items: What to iterate; a generator is closed at the end.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        self._loop = asyncio.get_running_loop()
        self._ready: deque[T] = deque()
        self._news = asyncio.Event()
        self._over = False
        self._fault: Exception | None = None
        self._closed = False
        self._room = threading.Semaphore(AHEAD)
        self._thread: threading.Thread | None = None

    async def __anext__(self) -> T:
        """Return the next item.

        Raises:
            Exception: What the iterator raised.
            StopAsyncIteration: At the end.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="legato-pump", daemon=True)
            self._thread.start()
        while not self._ready:
            if self._fault is not None:
                raise self._fault
            if self._over or self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        self._room.release()
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Take no more; the thread ends as soon as it is not blocked."""
        self._closed = True
        self._ready.clear()
        self._room.release()
        self._news.set()

    def _run(self) -> None:
        iterator: Iterator[T] | None = None
        fault: Exception | None = None
        try:
            iterator = iter(self._items)
            while self._has_room() and (item := next(iterator, _END)) is not _END:
                self._tell(self._push, item)
        except Exception as error:  # noqa: BLE001  (it is raised where the items are read)
            fault = error
        if isinstance(iterator, Generator):
            iterator.close()
        self._tell(self._end, fault)

    def _has_room(self) -> bool:
        self._room.acquire()
        return not self._closed

    def _tell(self, say: Callable[[Any], None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(say, what)

    def _push(self, item: T) -> None:
        if not self._closed:
            self._ready.append(item)
            self._news.set()

    def _end(self, fault: Exception | None) -> None:
        self._over, self._fault = True, fault
        self._news.set()
