"""Text on its way to an upstream: what was said there can be said again elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


class Script:
    """The pieces of a text, in runs: pieces that come without a long wait between them.

    Args:
        pieces: The text; pulled when asked for.
        longest_wait: Seconds of waiting for a piece after which it begins a new run.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        pieces: Iterator[str],
        *,
        longest_wait: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pieces = pieces
        self._longest_wait = longest_wait
        self._clock = clock
        self._run: list[str] = []
        self._pending: str | None = None

    def begin(self) -> bool:
        """Begin the next run; False if the text is over."""
        piece = next(self._pieces, None) if self._pending is None else self._pending
        self._pending = None
        self._run = [] if piece is None else [piece]
        return piece is not None

    def pieces(self) -> Iterator[str]:
        """Yield the run from its beginning, and go on with it."""
        place = 0
        while True:
            while place < len(self._run):
                yield self._run[place]
                place += 1
            if self._pending is not None:
                return
            before = self._clock()
            piece = next(self._pieces, None)
            if piece is None:
                return
            if self._clock() - before > self._longest_wait:
                self._pending = piece
                return
            self._run.append(piece)
