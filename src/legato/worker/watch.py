"""Whether an engine still does its work, judged by progress."""

from __future__ import annotations

from collections.abc import Callable

from legato.errors import EngineTimeout, LegatoError
from legato.worker.board import SlotState
from legato.worker.calls import CallTable, EngineCall


class Watch:
    """Finds the calls that are inside their engine and make no progress.

    Args:
        calls: To watch.
        state: Returns what the call in a slot is doing.
        timeout: Seconds without progress.
        clock: Monotonic seconds.

    Attributes:
        interval: Seconds between two looks.
    """

    def __init__(
        self,
        calls: CallTable,
        state: Callable[[int], SlotState],
        *,
        timeout: float,
        clock: Callable[[], float],
    ) -> None:
        self.interval = min(0.25, timeout / 4)
        self._calls = calls
        self._state = state
        self._timeout = timeout
        self._clock = clock
        self._looked_at = clock()

    def hung(self) -> list[EngineCall]:
        """Return the calls that made no progress for too long; call it every `interval`."""
        now = self._clock()
        # If the worker itself was held up, replies lie unread: that is not the engine's fault.
        late = now - self._looked_at > 2 * self.interval + 0.1
        self._looked_at = now
        hung = []
        for call in self._calls:
            if late or self._state(call.slot) is SlotState.WAITING:
                call.progress_at = now
            elif now - call.progress_at >= self._timeout and not call.given_up:
                hung.append(call)
        return hung


def timeout_error(engine: str, timeout: float) -> LegatoError:
    """Return what a hung call fails with."""
    return EngineTimeout(f"{engine} made no progress for {timeout:g} s. {EngineTimeout.advice}")
