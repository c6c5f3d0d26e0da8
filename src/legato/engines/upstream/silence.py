"""A deadline that moves: what to do when nothing is heard for too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

Stop = Callable[[], object]


class Silence:
    """Calls something when an instant passes; for libraries whose waiting has no time-out.

    As a context manager: outside of it nothing is called.

    Args:
        stop: What is called, in a thread of its own, at most once.

    Attributes:
        broken: Whether it was called.
        heard: Whether anything was heard at all.
    """

    def __init__(self, stop: Stop) -> None:
        self.broken = False
        self.heard = False
        self._stop = stop
        self._condition = threading.Condition()
        self._deadline: float | None = None
        self._over = False
        self._thread = threading.Thread(target=self._watch, name="silence", daemon=True)

    def __enter__(self) -> Silence:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        with self._condition:
            self._over = True
            self._condition.notify()

    def until(self, deadline: float | None) -> None:
        """Set the instant (`time.monotonic`) that is waited for; None: something was heard."""
        with self._condition:
            self.heard = self.heard or deadline is None
            self._deadline = deadline
            self._condition.notify()

    def _watch(self) -> None:
        with self._condition:
            while not self._over:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self.broken = True
                    break
                self._condition.wait(left)
        if self.broken:
            self._stop()
