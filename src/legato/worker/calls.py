"""The worker's side of engine calls: feed, iterate, close; and the calls of one host."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from legato.engines.base import EngineInfo
from legato.errors import EngineUnavailable
from legato.protocol.faults import from_wire
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.worker.frames import (
    WINDOW_BYTES,
    Abandon,
    CallInput,
    CallOutput,
    Consumed,
    Degraded,
    EndInput,
    Failed,
    Feed,
    Finished,
    Grant,
    Heard,
    Listen,
    Reached,
    Sound,
    Speak,
)

Request = SynthesisRequest | RecognitionRequest
Output = Sound | Heard | Reached | Degraded

BACKLOG: Final = 16
"""Outputs not read yet from which on only the latest partial is kept."""

Freed = Callable[[float], None]
"""Takes the seconds for which a slot was taken that is free now; called in the event loop."""


def unnoticed(held: float) -> None:
    """Do nothing about a slot that is free."""


class EngineLost(Exception):
    """The engine's process died, and this call is not proved guilty: the work can be done again.

    Attributes:
        bystander: Whether this call is proved innocent: it was not inside the engine, or another
            was seen to crash it.
    """

    def __init__(self, message: str, *, bystander: bool = False) -> None:
        super().__init__(message)
        self.bystander = bystander


class EngineRefused(EngineUnavailable):
    """An engine that says that it cannot be loaded.

    Attributes:
        info: What it would be able to do, if it could say so.
    """

    def __init__(self, message: str, info: EngineInfo | None) -> None:
        super().__init__(message)
        self.info = info


class EngineCall:
    """One call of an engine; iterate over it for what is an `Output`.

    One task feeds and one iterates. Everything is in the request's format.

    Args:
        number: Of the call, unique within its host.
        slot: Which of the host's slots it has.
        send: Takes word to the engine; never blocks.

    Attributes:
        stalled: Seconds of its share of the engine's work since it last took input or gave output,
            as its watch counts them.
        sent: Commands sent to the engine since it began.
        closed: Whether nobody wants its outputs any more.
        finished: Whether the engine has let go of its slot.
        given_up: Whether it failed before the engine let go.
    """

    def __init__(self, number: int, slot: int, send: Callable[[CallInput], None]) -> None:
        self.number = number
        self.slot = slot
        self.stalled = 0.0
        self.sent = 0
        self.closed = False
        self.finished = False
        self.given_up = False
        self._send = send
        self._outputs: deque[Output] = deque()
        self._untaken = 0
        self._over = False
        self._error: Exception | None = None
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()

    @property
    def has_taken_all(self) -> bool:
        """Whether the engine has taken all input that it was given."""
        return self._untaken <= 0

    async def feed(self, piece: str | bytes) -> None:
        """Give input, waiting while the engine is too far behind; ignored after `close`.

        Raises:
            LegatoError: If the engine failed.
            EngineLost: If its process died through no fault of this call.
        """
        while self._untaken and self._untaken + len(piece) > WINDOW_BYTES and not self._over:
            self._taken.clear()
            await self._taken.wait()
        if self._error is not None:
            raise self._error
        if not self._over:
            self._untaken += len(piece)
            self._tell(_feed(self.number, piece))

    def end(self) -> None:
        """Say that no more input follows."""
        if not self._over:
            self._tell(EndInput(self.number))

    def close(self) -> None:
        """Stop: nothing more comes out, and the slot is free as soon as the engine lets go."""
        if self.closed:
            return
        self.closed = True
        self._outputs.clear()
        self._stop()
        if not self.finished:
            self._tell(Abandon(self.number))

    def __aiter__(self) -> EngineCall:
        return self

    async def __anext__(self) -> Output:
        while not self._outputs:
            if self._error is not None:
                raise self._error
            if self._over:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        output = self._outputs.popleft()
        if isinstance(output, Sound) and not self.finished:
            self._tell(Grant(self.number, len(output.pcm)))
        return output

    def receive(self, output: CallOutput) -> None:
        """Take word from the engine."""
        self.stalled = 0.0
        match output:
            case Consumed():
                self._untaken -= output.size_bytes
                self._taken.set()
            case Finished():
                self.finished = True
                self._stop()
            case Failed():
                error = from_wire(output.code, output.message, facts=output.facts)
                error.remote = False
                self.fail(error)
            case Sound() | Heard() | Reached() | Degraded() if not self.closed:
                behind = len(self._outputs) >= BACKLOG
                if behind and _is_partial(output) and _is_partial(self._outputs[-1]):
                    self._outputs.pop()  # outdated before it was read
                self._outputs.append(output)
                self._arrived.set()

    def fail(self, error: Exception) -> None:
        """End the call with `error`, after the outputs that are there; the slot is free."""
        self.finished = True
        self.give_up(error)

    def give_up(self, error: Exception) -> None:
        """End the call with `error` while the engine still has the slot."""
        self.given_up = not self.finished
        if not self._over:
            self._error = error
        self._stop()

    def _tell(self, command: CallInput) -> None:
        self.sent += 1
        self._send(command)

    def _stop(self) -> None:
        self._over = True
        self._arrived.set()
        self._taken.set()


class CallTable:
    """The calls of one host, and which of its slots are free.

    Args:
        slots: How many calls at once.
        send: Takes commands to the host; never blocks.
        clock: Monotonic seconds.
        freed: Called when a slot becomes free, with the seconds for which it was taken.

    Attributes:
        opened: Calls begun so far.
        moves: Words that came from the host so far.
    """

    def __init__(
        self,
        slots: int,
        send: Callable[[Speak | Listen | CallInput], None],
        clock: Callable[[], float],
        *,
        freed: Freed = unnoticed,
    ) -> None:
        self.opened = 0
        self.moves = 0
        self._send = send
        self._clock = clock
        self._freed = freed
        self._free = list(reversed(range(slots)))
        self._calls: dict[int, EngineCall] = {}
        self._began: dict[int, float] = {}

    def __iter__(self) -> Iterator[EngineCall]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def free(self) -> int:
        """Slots that are free."""
        return len(self._free)

    def ages(self) -> list[float]:
        """Return for how many seconds each call that is open has had its slot."""
        now = self._clock()
        return [now - began for began in self._began.values()]

    def open(self, request: Request) -> EngineCall:
        """Begin a call.

        Raises:
            IndexError: If no slot is free.
        """
        slot = self._free.pop()
        call = EngineCall(self.opened, slot, self._send)
        self.opened += 1
        self._calls[call.number] = call
        self._began[call.number] = self._clock()
        if isinstance(request, SynthesisRequest):
            self._send(Speak(call.number, slot, request))
        else:
            self._send(Listen(call.number, slot, request))
        return call

    def receive(self, output: CallOutput) -> None:
        """Hand word from the host to its call."""
        self.moves += 1
        call = self._calls.get(output.call)
        if call is None:
            return
        call.receive(output)
        if call.finished:
            del self._calls[call.number]
            self._free.append(call.slot)
            self._freed(self._clock() - self._began.pop(call.number))

    def clear(self) -> list[EngineCall]:
        """Take all calls away, as their host is gone; no slot is free any more."""
        calls = list(self._calls.values())
        self._calls.clear()
        self._began.clear()
        self._free.clear()
        return calls


def _is_partial(output: CallOutput) -> bool:
    return isinstance(output, Heard) and not output.transcript.final


def _feed(call: int, piece: str | bytes) -> Feed:
    return Feed(call, text=piece) if isinstance(piece, str) else Feed(call, pcm=piece)
