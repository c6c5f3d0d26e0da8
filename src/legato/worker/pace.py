"""How a stream that is spoken stands to its listener, and what its slot was used for."""

from __future__ import annotations

from collections.abc import Callable

from legato.flow.urgency import NEVER
from legato.worker.measure import SlotMeasure
from legato.worker.turns import Caller


class Pace:
    """Keeps account of one stream's audio against the clock.

    Args:
        tenant: Whose stream it is.
        clock: Monotonic seconds.
        patient: Whether nothing is streamed.
    """

    def __init__(self, tenant: str, clock: Callable[[], float], *, patient: bool = False) -> None:
        self._tenant = tenant
        self._patient = patient
        self._clock = clock
        self._covered_until = NEVER
        self._began = 0.0
        self._made = 0.0
        self._waited = 0.0

    def caller(self, *, under_way: bool) -> Caller:
        """Return for whom a call is made now; `under_way` once any audio was given."""
        return Caller(
            tenant=self._tenant,
            under_way=under_way,
            covered_until=self._covered_until,
            patient=self._patient,
        )

    def begin_call(self) -> None:
        """Note that a slot was got."""
        self._began = self._clock()
        self._made = self._waited = 0.0

    def make(self, seconds: float) -> None:
        """Note so much audio, which is played after what was given before."""
        self._covered_until = max(self._covered_until, self._clock()) + seconds
        self._made += seconds

    def wait(self, since: float) -> None:
        """Note that since then nothing was done but wait for the listener."""
        self._waited += self._clock() - since

    def end_call(self, measure: SlotMeasure) -> None:
        """Note that the slot was given back, and what it was good for."""
        measure.note_work(self._clock() - self._began - self._waited, self._made)
