"""One stream in a batch: its place, what it was given and what came of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeVar

from legato.engines.batch_turns import Place

AHEAD: Final = 8
"""Outputs that a stream may have lying unread before it gets no more steps."""

S = TypeVar("S")
R = TypeVar("R")
I = TypeVar("I")  # noqa: E741  input
O = TypeVar("O")  # noqa: E741  output
O_co = TypeVar("O_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Progress(Generic[O_co]):
    """What one step did for one stream.

    Attributes:
        outputs: What came of it, in order.
        more: Whether it can go on without further input. If not, it gets its next step after it
            has been fed, and is over if its input has ended.
        error: Ends this stream and no other.
    """

    outputs: Sequence[O_co] = ()
    more: bool = False
    error: Exception | None = None


class Turn(Enum):
    """What a stream is told that has no output to take."""

    INPUT = "input"
    OVER = "over"


class Seat(Generic[S, R, I, O]):
    """One stream in the batch; its fields are guarded by the stepper's lock."""

    def __init__(self, request: R, lock: threading.Lock, place: Place) -> None:
        self.request = request
        self.place = place
        self.changed = threading.Condition(lock)
        self.slot: S | None = None
        self.opened = False
        self.inbox: deque[I] = deque()  # one piece: the next is asked for when it is taken
        self.ending = False
        self.ended = False
        self.outputs: deque[O] = deque()
        self.has_work = False
        self.stepped = -1
        self.error: BaseException | None = None
        self.leaving = False
        self.gone = False

    @property
    def needs_care(self) -> bool:
        """Whether there is something to open, to feed, to end or to release."""
        news = not self.opened or bool(self.inbox) or (self.ending and not self.ended)
        return self.leaving or self.is_over or news

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.error is not None or (self.ended and not self.has_work)

    @property
    def is_ready(self) -> bool:
        """Whether a step would do something for it."""
        return self.has_work and not self.leaving and len(self.outputs) < AHEAD

    @property
    def wants_input(self) -> bool:
        """Whether it stands still until it is fed."""
        return self.opened and not (self.has_work or self.inbox or self.ending)
