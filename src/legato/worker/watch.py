"""Whether an engine still does its work, judged by progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from legato.errors import EngineTimeout, LegatoError
from legato.worker.board import SlotState
from legato.worker.calls import CallTable, EngineCall


class ReadBoard(Protocol):
    """Where calls leave word of what they are doing."""

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is."""

    def taken(self, slot: int) -> int:
        """Return how many commands the call in `slot` has taken since it began."""


class Watch:
    """Finds the calls that make no progress though it is not their client that they wait for.

    Those are inside their engine, or wait in our code but do not take the input or the credit that
    they were sent: their process is stopped, or another call in it holds the interpreter's lock.

    Args:
        calls: To watch.
        board: Tells what the call in a slot is doing.
        timeout: Seconds without progress.
        clock: Monotonic seconds.

    Attributes:
        interval: Seconds between two looks.
    """

    def __init__(
        self,
        calls: CallTable,
        board: ReadBoard,
        *,
        timeout: float,
        clock: Callable[[], float],
    ) -> None:
        self.interval = min(0.25, timeout / 4)
        self._slack = 2 * self.interval + 0.1
        self._calls = calls
        self._board = board
        self._timeout = timeout
        self._clock = clock
        self._looked_at = clock()

    def hung(self) -> list[EngineCall]:
        """Return the calls that made no progress for too long; call it every `interval`."""
        now = self._clock()
        # If the worker itself was held up, replies lie unread: that is not the engine's fault.
        late = now - self._looked_at > self._slack
        self._looked_at = now
        hung = []
        for call in self._calls:
            waits = self._board.state(call.slot) is SlotState.WAITING
            if late or (waits and self._board.taken(call.slot) >= call.sent):
                call.progress_at = now
            # One that is kept waiting by another has more time, so that the other is found first.
            elif now - call.progress_at >= self._timeout + self._slack * waits:
                hung.append(call)
        return [call for call in hung if not call.given_up]


def timeout_error(engine: str, timeout: float) -> LegatoError:
    """Return what a hung call fails with."""
    return EngineTimeout(f"{engine} made no progress for {timeout:g} s. {EngineTimeout.advice}")
