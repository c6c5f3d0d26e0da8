"""Streams that can be closed while they wait for an upstream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Cancellation:
    """Whether a stream is still wanted, and what stops its waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []
        self._cancelled = threading.Event()

    def is_cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait; return at once, and True, when it is cancelled."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Stop whatever it waits for; from any thread, any number of times."""
        with self._lock:
            self._cancelled.set()
            stops, self._stops = self._stops, []
        for stop in stops:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have `stop` called, from another thread perhaps, if it is cancelled meanwhile."""
        with self._lock:
            if not self.is_cancelled():
                self._stops.append(stop)
        if self.is_cancelled():
            stop()
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._stops.remove(stop)


class Stream(Generic[T]):
    """What a generator yields; `close` may be called while another thread waits in it.

    Args:
        work: The generator, not begun yet.
        cancellation: What its waiting looks at.
    """

    def __init__(self, work: Generator[T, None, None], cancellation: Cancellation) -> None:
        self._work = work
        self._cancellation = cancellation

    def __iter__(self) -> Stream[T]:
        """Return itself."""
        return self

    def __next__(self) -> T:
        """Return what comes next.

        Raises:
            StopIteration: At the end, or when it was closed meanwhile.
        """
        try:
            return next(self._work)
        except Exception:
            if self._cancellation.is_cancelled():
                raise StopIteration from None
            raise

    def interrupt(self) -> None:
        """Have `__next__`, in whatever thread it waits, end the iteration; returns at once."""
        self._cancellation.cancel()

    def close(self) -> None:
        """Stop; what it waited for is given up."""
        self.interrupt()
        with suppress(ValueError):  # another thread is in it, and about to leave
            self._work.close()
