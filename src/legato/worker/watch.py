"""Whether an engine still does its work, judged by progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from legato.errors import EngineTimeout, LegatoError
from legato.worker.board import SlotState
from legato.worker.calls import CallTable, EngineCall


class ReadBoard(Protocol):
    """Where calls leave word of what they are doing."""

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is."""

    def taken(self, slot: int) -> int:
        """Return how many commands the call in `slot` has taken since it began."""


LEAST_SHARE: Final = 0.25
"""Of the time that passes, what counts at least for an engine that works: however little processor
time it gets, a call that never returns is found after four times the time-out."""

IDLE: Final = 0.05
"""Share of one processor below which an engine does not work but sleeps."""


def unknown() -> float | None:
    """Tell no processor time."""
    return None


class Watch:
    """Finds the calls that make no progress though it is not their client that they wait for.

    Those are inside their engine, or wait in our code but do not take the input or the credit that
    they were sent: their process is stopped, or another call in it holds the interpreter's lock.

    An engine that has much to do is not taken for one that hangs. While it works, which is to say
    while any of its calls makes progress or it uses the processor, a call that makes none is not
    charged with the time that passes but with its share of the work that was done. If the engine
    does nothing at all, time is time.

    Args:
        calls: To watch.
        board: Tells what the call in a slot is doing.
        timeout: Seconds without progress.
        clock: Monotonic seconds.
        cpu: Returns the processor seconds that the engine has used so far, None if unknown.

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
        cpu: Callable[[], float | None] = unknown,
    ) -> None:
        self.interval = min(0.25, timeout / 4)
        self._slack = 2 * self.interval + 0.1
        self._calls = calls
        self._board = board
        self._timeout = timeout
        self._clock = clock
        self._cpu = cpu
        self._looked_at = clock()
        self._moves = calls.moves
        self._used = cpu()

    def hung(self) -> list[EngineCall]:
        """Return the calls that made no progress for too long; call it every `interval`."""
        elapsed = self._clock() - self._looked_at
        self._looked_at += elapsed
        held_up = []
        for call in self._calls:
            waits = self._board.state(call.slot) is SlotState.WAITING
            if waits and self._board.taken(call.slot) >= call.sent:
                call.stalled = 0.0
            else:
                held_up.append((call, waits))
        charge = self._charge(elapsed, max(1, len(held_up)))
        # If the worker itself was held up, replies lie unread: that is not the engine's fault.
        late = elapsed > self._slack
        hung = []
        for call, waits in held_up:
            call.stalled = 0.0 if late else call.stalled + charge
            # One that is kept waiting by another has more time, so that the other is found first.
            if call.stalled >= self._timeout + self._slack * waits and not call.given_up:
                hung.append(call)
        return hung

    def _charge(self, elapsed: float, count: int) -> float:
        """Return the seconds that each of so many calls without progress is charged with."""
        moved, self._moves = self._calls.moves != self._moves, self._calls.moves
        before, self._used = self._used, self._cpu()
        used = 0.0 if before is None or self._used is None else self._used - before
        if not moved and used < IDLE * elapsed:
            return elapsed
        if before is None:
            return elapsed / count
        return min(elapsed, max(used, LEAST_SHARE * elapsed)) / count


def timeout_error(engine: str, timeout: float) -> LegatoError:
    """Return what a hung call fails with."""
    return EngineTimeout(f"{engine} made no progress for {timeout:g} s. {EngineTimeout.advice}")
