"""One direction of a connection in virtual time: delay, jitter, loss, order, and the cut."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Data = str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a link does to messages.

    Attributes:
        delay: Seconds that each takes.
        jitter: Seconds that it may take more.
        loss: Share that never arrives.
        reorders: Whether a message may overtake another.
    """

    delay: float = 0.02
    jitter: float = 0.0
    loss: float = 0.0
    reorders: bool = False


class Link:
    """Carries messages one way until it is cut.

    Args:
        conditions: What it does to them.
        rng: Decides delay and loss.
        spared: Tells which messages are never lost nor late.
    """

    def __init__(
        self, conditions: Conditions, rng: Random, spared: Callable[[Data], bool] = bool
    ) -> None:
        self._conditions = conditions
        self._rng = rng
        self._spared = spared
        self._flying: list[tuple[float, int, Data]] = []
        self._count = 0
        self._last_at = -math.inf
        self._cut = False

    def send(self, data: Data, now: float) -> None:
        """Take a message."""
        conditions = self._conditions
        spared = self._spared(data)
        if self._cut or (not spared and self._rng.random() < conditions.loss):
            return
        at = now + conditions.delay
        if not spared:
            at += self._rng.random() * conditions.jitter
        if not conditions.reorders:
            at = self._last_at = max(at, self._last_at)
        heapq.heappush(self._flying, (at, self._count, data))
        self._count += 1

    def arrivals(self, now: float) -> list[Data]:
        """Return what has arrived by now."""
        arrived = []
        while self._flying and self._flying[0][0] <= now:
            arrived.append(heapq.heappop(self._flying)[2])
        return arrived

    @property
    def next_at(self) -> float:
        """When the next message arrives, or inf."""
        return self._flying[0][0] if self._flying else math.inf

    def cut(self) -> None:
        """Lose what is under way and all that follows."""
        self._cut = True
        self._flying.clear()
