"""The thread of a batch engine: opens streams, feeds them, and steps those that have work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

from legato.engines.base import EngineInfo
from legato.engines.batch_seat import AHEAD, Progress, Seat, Turn
from legato.engines.batch_turns import Place, chosen, held_until
from legato.errors import EngineFailed
from legato.flow.urgency import NEVER
from legato.telemetry.logs import logger, trace_of

CLOSE_WAIT: Final = 1.0
"""Seconds that closing waits for a step under way."""

S = TypeVar("S")
R = TypeVar("R")
I = TypeVar("I")  # noqa: E741  input
O = TypeVar("O")  # noqa: E741  output
R_in = TypeVar("R_in", contravariant=True)
I_in = TypeVar("I_in", contravariant=True)
O_co = TypeVar("O_co", covariant=True)

log = logger("legato.engines.batching")


class BatchEngine(Protocol[S, R_in, I_in, O_co]):
    """What both kinds of batch engines have in common; see `legato.engines.batching`."""

    info: EngineInfo
    max_batch: int

    def open(self, request: R_in) -> S:
        """Return the state of a new stream."""

    def feed(self, slot: S, piece: I_in, /) -> None:
        """Give a stream more input."""

    def end(self, slot: S) -> None:
        """Say that no more follows."""

    def step(self, slots: Sequence[S]) -> Sequence[Progress[O_co]]:
        """Go on with some streams by one step."""

    def release(self, slot: S) -> None:
        """Free what a stream has."""


def nothing(request: object) -> float:
    """Tell of no audio that a request's listener has."""
    return 0.0


class Stepper(Generic[S, R, I, O]):
    """Runs an engine's steps; its thread lives while there are streams.

    A step begins as soon as one stream has work, and takes all that have, up to the engine's
    `max_batch`. Streams that come meanwhile are in the next, those that leave are not.

    Args:
        engine: It.
        max_wait: Seconds that a step waits at most for streams that were in the last one.
        clock: Monotonic seconds.
        seconds: Returns how long an output of a request is heard; None where nothing is.
        spare: Returns for how long a request's listener has something to hear already.

    Attributes:
        count: Steps so far.
        served: Streams in them, all together.
    """

    def __init__(
        self,
        engine: BatchEngine[S, R, I, O],
        *,
        max_wait: float,
        clock: Callable[[], float],
        seconds: Callable[[R, O], float] | None = None,
        spare: Callable[[R], float] = nothing,
    ) -> None:
        self.count = 0
        self.served = 0
        self._engine = engine
        self._max_wait = max_wait
        self._clock = clock
        self._seconds = seconds
        self._spare = spare
        self._lock = threading.Lock()
        self._due = threading.Condition(self._lock)
        self._seats: dict[int, Seat[S, R, I, O]] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._turns = count()
        self._step_ended = self._step_took = 0.0

    @property
    def waiting(self) -> int:
        """Streams that have come and not left."""
        with self._lock:
            return len(self._seats)

    def join(self, request: R, *pieces: I) -> Seat[S, R, I, O]:
        """Take a place; the engine opens it before the next step, and feeds it with `pieces`."""
        with self._lock:
            turn = next(self._turns)
            now, spare = self._clock(), self._spare(request)
            place = Place(
                ticket=turn,
                turn=turn,
                since=now,
                under_way=spare > 0,
                covered_until=now + spare if spare > 0 else NEVER,
            )
            seat: Seat[S, R, I, O] = Seat(request, self._lock, place)
            seat.inbox.extend(pieces)
            if self._closed:
                seat.error, seat.gone = EngineFailed("the engine was closed"), True
                return seat
            self._seats[place.ticket] = seat
            if self._thread is None:
                name = f"steps-{self._engine.info.name}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            self._due.notify()
        return seat

    def take(self, seat: Seat[S, R, I, O]) -> O | Turn:
        """Return the next output, or what there is to do instead; blocks until there is either.

        Raises:
            LegatoError: If the stream failed.
        """
        with self._lock:
            while True:
                if seat.leaving:
                    return Turn.OVER
                if seat.outputs:
                    if len(seat.outputs) == AHEAD:
                        self._due.notify()
                    return seat.outputs.popleft()
                if seat.error is not None:
                    raise seat.error
                if seat.is_over:
                    return Turn.OVER
                if seat.wants_input:
                    return Turn.INPUT
                # No deadline: a step that never ends is for whoever watches the engine.
                seat.changed.wait()

    def feed(self, seat: Seat[S, R, I, O], piece: I) -> None:
        """Give a stream input."""
        with self._lock:
            seat.inbox.append(piece)
            self._due.notify()

    def end(self, seat: Seat[S, R, I, O]) -> None:
        """Say that a stream gets no more input."""
        with self._lock:
            seat.ending = True
            self._due.notify()

    def leave(self, seat: Seat[S, R, I, O]) -> None:
        """Have a stream be in no further step; returns at once."""
        with self._lock:
            seat.leaving = True
            seat.changed.notify_all()
            self._due.notify()

    def left(self, seat: Seat[S, R, I, O]) -> None:
        """Wait until the engine has freed what a stream had: at most until a step's end."""
        with self._lock:
            while not seat.gone:
                seat.changed.wait()

    def close(self) -> None:
        """Fail all streams and end the thread."""
        with self._lock:
            self._closed = True
            thread = self._thread
            for seat in self._seats.values():
                seat.error = seat.error or EngineFailed("the engine was closed")
                seat.changed.notify_all()
            self._due.notify()
        if thread is not None:
            thread.join(CLOSE_WAIT)

    def _run(self) -> None:
        try:
            while self._go_on():
                pass
        except BaseException as error:  # noqa: BLE001  top of the thread; engines raise anything
            self._abort(error)

    def _go_on(self) -> bool:
        """Do the next thing; False when there are no streams left."""
        with self._lock:
            cared, batch = self._wait()
            if not cared and not batch:
                self._thread = None
                return False
        for seat in cared:
            self._care_for(seat)
        if batch:
            self._step(batch)
        return True

    def _wait(self) -> tuple[list[Seat[S, R, I, O]], list[Seat[S, R, I, O]]]:
        """Return the streams to care for, or else those of the next step; neither at the end."""
        while self._seats:
            cared = [seat for seat in self._seats.values() if seat.needs_care]
            if cared:
                return cared, []
            ready = [seat for seat in self._seats.values() if seat.is_ready]
            rest = self._held_back(len(ready)) if ready else None
            if rest is not None and rest <= 0:
                return [], self._batch(ready)
            self._due.wait(rest)
        return [], []

    def _held_back(self, ready: int) -> float:
        """Return for how many seconds the next step waits for others."""
        expected = sum(
            seat.stepped == self.count and seat.wants_input for seat in self._seats.values()
        )
        until = held_until(
            ready=ready,
            expected=expected,
            capacity=self._engine.max_batch,
            ended=self._step_ended,
            took=self._step_took,
            max_wait=self._max_wait,
        )
        return until - self._clock()

    def _batch(self, ready: list[Seat[S, R, I, O]]) -> list[Seat[S, R, I, O]]:
        places = (seat.place for seat in ready)
        tickets = chosen(places, self._engine.max_batch, self._clock())
        return [self._seats[ticket] for ticket in tickets]

    def _care_for(self, seat: Seat[S, R, I, O]) -> None:
        if seat.leaving or seat.is_over:
            self._release(seat)
            return
        try:
            if not seat.opened:
                seat.slot = self._engine.open(seat.request)
            assert seat.slot is not None  # noqa: S101  opened above
            while seat.inbox:
                self._engine.feed(seat.slot, seat.inbox[0])
                with self._lock:
                    seat.inbox.popleft()
                    seat.has_work = True
            if seat.ending and not seat.ended:
                self._engine.end(seat.slot)
                with self._lock:
                    seat.ended = seat.has_work = True
                    seat.place = replace(seat.place, last_words=self._seconds is None)
        except Exception as error:  # noqa: BLE001  an engine raises anything; told to its stream
            self._fail(seat, error)
        with self._lock:
            seat.opened = True
            seat.changed.notify_all()

    def _release(self, seat: Seat[S, R, I, O]) -> None:
        with self._lock:
            slot, seat.slot = seat.slot, None
        try:
            if slot is not None:
                self._engine.release(slot)
        except Exception as error:  # noqa: BLE001  an engine raises anything; nobody waits for it
            log.warning("stream not released", engine=self._name, trace=trace_of(error))
        with self._lock:
            del self._seats[seat.place.ticket]
            seat.gone = True
            seat.changed.notify_all()

    def _step(self, batch: list[Seat[S, R, I, O]]) -> None:
        began = self._clock()
        slots = [seat.slot for seat in batch if seat.slot is not None]
        try:
            # Fails if there is not one result for each.
            steps = list(zip(batch, self._engine.step(slots), strict=True))
        except Exception as error:  # noqa: BLE001  an engine raises anything; told to its streams
            log.warning("step failed", engine=self._name, streams=len(batch), trace=trace_of(error))
            for seat in batch:
                self._fail(seat, _failure(self._name, error))
            return
        with self._lock:
            self._step_ended = self._clock()
            self._step_took = self._step_ended - began
            self.count += 1
            self.served += len(batch)
            for seat, progress in steps:
                self._note(seat, progress)

    def _note(self, seat: Seat[S, R, I, O], progress: Progress[O]) -> None:
        """Take what a step did for a stream; with the lock."""
        now = self._step_ended
        seat.outputs.extend(progress.outputs)
        seat.has_work = progress.more
        seat.stepped = self.count
        covered = seat.place.covered_until
        if self._seconds is not None and progress.outputs:
            made = sum(self._seconds(seat.request, output) for output in progress.outputs)
            covered = max(covered, now) + made
        seat.place = replace(
            seat.place,
            turn=next(self._turns),
            since=now,
            under_way=self._seconds is not None
            and (seat.place.under_way or bool(progress.outputs)),
            covered_until=covered,
        )
        if progress.error is not None:
            seat.error = progress.error
        seat.changed.notify_all()

    def _fail(self, seat: Seat[S, R, I, O], error: Exception) -> None:
        with self._lock:
            seat.error = seat.error or error
            seat.has_work = False
            seat.changed.notify_all()

    def _abort(self, error: BaseException) -> None:
        """Fail all streams: what went wrong is not theirs."""
        log.critical("steps ended", engine=self._name, trace=trace_of(error))
        with self._lock:
            self._thread = None
            seats = list(self._seats.values())
            self._seats.clear()
            for seat in seats:
                seat.error = seat.error or _failure(self._name, error)
                seat.gone = True
                seat.changed.notify_all()

    @property
    def _name(self) -> str:
        return self._engine.info.name


def _failure(name: str, error: BaseException) -> EngineFailed:
    """Return the failure of one of several streams; each raises one of its own."""
    failure = EngineFailed(f"{name} raised {type(error).__name__}. {EngineFailed.advice}")
    failure.__cause__ = error
    return failure.with_traceback(error.__traceback__)
