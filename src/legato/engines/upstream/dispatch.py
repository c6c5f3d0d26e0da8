"""Requests to one of several upstreams: chosen, watched, and tried elsewhere while nothing came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from legato.engines.upstream.breaker import State
from legato.engines.upstream.cancellation import Cancellation
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.pool import SOON, Pool
from legato.errors import LegatoError, Overloaded
from legato.telemetry.logs import logger

E = TypeVar("E")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[E]):
    """One request to one upstream.

    Attributes:
        endpoint: Where.
        deadline: Instant, in seconds of the dispatch's clock, by which the first result is due.
        cancellation: Of its stream.
    """

    endpoint: E
    deadline: float
    cancellation: Cancellation


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often is tried.

    Attributes:
        attempts: Upstreams that one request is tried on, at most.
        first_byte: Seconds that one has until its first result.
        give_up_after: Seconds that all have together until then.
    """

    attempts: int
    first_byte: float
    give_up_after: float


class Dispatch(Generic[E]):
    """Hands requests to upstreams; safe to use from several threads.

    Args:
        engine: Name for errors and the log.
        endpoints: The upstreams.
        pool: Knows which of them to ask.
        patience: How long is waited.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        engine: str,
        endpoints: tuple[E, ...],
        pool: Pool,
        *,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.endpoints = endpoints
        self._engine = engine
        self._pool = pool
        self._patience = patience
        self._clock = clock
        self._lock = threading.Condition()
        self._log = logger("legato.engines.upstream")

    def run(
        self,
        request: Callable[[Attempt[E]], Generator[R, None, None]],
        cancellation: Cancellation,
    ) -> Generator[R, None, None]:
        """Yield the results of a request to one of the upstreams.

        Args:
            request: Asks one; raises `Fault`. Called again, elsewhere, as long as nothing came.
            cancellation: Of the stream.

        Raises:
            LegatoError: If none of the upstreams that were asked gave what was wanted.
        """
        give_up = self._clock() + self._patience.give_up_after
        tried: set[int] = set()
        last: Fault | None = None
        while not cancellation.is_cancelled():
            with self._place(tried, last, give_up, cancellation) as number:
                begun = False
                results = request(self._attempt(number, give_up, cancellation))
                try:
                    for result in results:
                        begun = True
                        yield result
                    _check_said_something(begun)
                    self._well(number)
                    return
                except Fault as fault:
                    if cancellation.is_cancelled():
                        return
                    self._badly(number, fault)
                    if begun or not self._goes_on(fault, len(tried), give_up):
                        raise fault.error(self._engine) from fault
                    last = fault
                finally:
                    results.close()

    def probe(self, answers: Callable[[E], bool]) -> None:
        """Look at each upstream that serves nothing.

        Args:
            answers: Tells whether one can be reached; blocks for a bounded time.
        """
        with self._lock:
            idle = self._pool.idle()
        for number in idle:
            well = answers(self.endpoints[number])
            with self._lock:
                before = self._pool.states(self._clock())[number]
                self._pool.probed(number, self._clock(), well=well)
                after = self._pool.states(self._clock())[number]
            if before is not after:
                self._tell(number, after, "a probe")

    def states(self) -> tuple[State, ...]:
        """Return the state of each upstream's breaker."""
        with self._lock:
            return self._pool.states(self._clock())

    @contextmanager
    def _place(
        self, tried: set[int], last: Fault | None, give_up: float, cancellation: Cancellation
    ) -> Iterator[int]:
        try:
            with cancellation.stopping(self._wake):
                number = self._taken(tried, give_up, cancellation)
        except LegatoError as error:
            if last is not None:  # it says more than that there is no other
                raise last.error(self._engine) from last
            raise type(error)(
                f"{self._engine}: {error.message}", retry_after=error.retry_after
            ) from error
        tried.add(number)
        try:
            yield number
        finally:
            with self._lock:
                self._pool.give_back(number)
                self._lock.notify_all()

    def _taken(self, tried: set[int], give_up: float, cancellation: Cancellation) -> int:
        """Take a place; wait for one while all that work are busy."""
        with self._lock:
            while True:
                try:
                    return self._pool.take(self._clock(), avoid=tried)
                except Overloaded as error:
                    now, wait = self._clock(), error.retry_after or SOON
                    resting = wait > SOON and now + wait > give_up
                    if now >= give_up or resting or cancellation.is_cancelled():
                        raise
                    self._lock.wait(min(wait, give_up - now))

    def _wake(self) -> None:
        with self._lock:
            self._lock.notify_all()

    def _attempt(self, number: int, give_up: float, cancellation: Cancellation) -> Attempt[E]:
        deadline = min(self._clock() + self._patience.first_byte, give_up)
        return Attempt(self.endpoints[number], deadline, cancellation)

    def _goes_on(self, fault: Fault, tried: int, give_up: float) -> bool:
        in_time = self._clock() < give_up
        return fault.treatment.elsewhere and tried < self._patience.attempts and in_time

    def _well(self, number: int) -> None:
        with self._lock:
            before = self._pool.states(self._clock())[number]
            self._pool.succeed(number, self._clock())
        if before is State.HALF_OPEN:
            self._tell(number, State.CLOSED, "a request went well")

    def _badly(self, number: int, fault: Fault) -> None:
        with self._lock:
            before = self._pool.states(self._clock())[number]
            self._pool.fail(number, self._clock(), fault)
            after = self._pool.states(self._clock())[number]
        self._log.warning(
            "upstream failed",
            engine=self._engine,
            upstream=number + 1,
            kind=fault.kind.name.lower(),
            reason=fault.message,
        )
        if before is not after:
            self._tell(number, after, fault.message)

    def _tell(self, number: int, state: State, reason: str) -> None:
        self._log.warning(
            "upstream breaker",
            engine=self._engine,
            upstream=number + 1,
            state=state.name.lower(),
            reason=reason,
        )


def _check_said_something(said: bool) -> None:
    if not said:
        raise Fault(Kind.BROKEN, "the upstream's answer is empty")
