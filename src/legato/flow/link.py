"""A bad network in one direction: rate, queue, delay, jitter, loss and freezes, from a seed.

`Link` carries datagrams, `ReliableLink` the segments of a byte stream. Both only compute: when does
what is sent now arrive? Who holds the bytes until then is a shell's business.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from legato.flow.loss import NO_LOSS, BurstLoss, Loss
from legato.flow.timeout import RetransmissionTimer

SEGMENT_BYTES: Final = 1448
"""What a TCP segment carries over Ethernet (MTU 1500, IPv4, timestamps)."""

JITTER_SECONDS: Final = 0.1
"""Seconds over which delays stay alike: the network's queues fill and drain (study qos)."""

REORDERING_WINDOW: Final = 0.25
"""Of a round trip, that a sender waits for a segment that may just be late (RFC 8985 §6.2)."""

MAX_REPAIRS: Final = 15
"""Retransmissions of one segment after which the connection is given up (Linux: tcp_retries2)."""


class Generator(Protocol):
    """What is needed of `random.Random`."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...

    def uniform(self, a: float, b: float) -> float:
        """Return a number between `a` and `b`."""
        ...

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Return a number of a normal distribution."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What one direction of a network does to packets.

    Attributes:
        delay: Seconds that a packet takes in the middle, besides waiting for its turn.
        jitter: Seconds by which that may be less or more; a delay is never below 0.
        loss: Which packets are lost.
        rate: Bits per second, or periods of (seconds, bits per second) that come again and again
            from instant 0 on; infinity for no bound.
        queue_bytes: What may wait for its turn; a datagram that finds less room is dropped.
        reorders: Whether each packet has a delay of its own, so that one may overtake another. If
            not, delays change slowly (first-order autoregression, `JITTER_SECONDS`), and no packet
            arrives before the one ahead of it.
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: Loss | BurstLoss = NO_LOSS
    rate: float | tuple[tuple[float, float], ...] = math.inf
    queue_bytes: int = 262_144
    reorders: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.delay < math.inf and 0 <= self.jitter < math.inf):
            raise ValueError(f"delay {self.delay} and jitter {self.jitter} must be 0 or more")
        periods = self.periods
        if not periods or any(not 0 < seconds < math.inf for seconds, _ in periods):
            raise ValueError("each period of a rate must last for more than 0 s")
        if any(not rate >= 0 for _, rate in periods) or not any(rate for _, rate in periods):
            raise ValueError("a rate must be 0 or more, and above 0 at some time")

    @property
    def periods(self) -> tuple[tuple[float, float], ...]:
        """The rate as periods."""
        return self.rate if isinstance(self.rate, tuple) else ((1.0, self.rate),)

    @property
    def least_delay(self) -> float:
        """Seconds that no packet stays below."""
        return max(0.0, self.delay - self.jitter)


class Link:
    """Datagrams: each arrives once, or not at all.

    Args:
        conditions: What happens to them.
        rng: Draws loss and jitter; the same seed and the same packets give the same arrivals.
    """

    def __init__(self, conditions: Conditions, rng: Generator) -> None:
        self.conditions = conditions
        self._rng = rng
        self._lose = conditions.loss.begin()
        self._line = Bottleneck(conditions.periods)
        self._bearing = 0.0
        self._drawn_at = -math.inf
        self._last = -math.inf
        self._freezes: deque[tuple[float, float]] = deque()

    def freeze(self, begin: float, end: float) -> None:
        """Let nothing arrive from `begin` to `end`; what would arrives at `end`.

        What was sent before this call keeps its instant. Windows are given in their order.
        """
        self._freezes.append((begin, end))

    def send(self, size: int, now: float) -> float | None:
        """Send a datagram.

        Args:
            size: Bytes.
            now: Monotonic seconds, not before the last call's.

        Returns:
            The instant at which it arrives, or None if it is lost on the way or found no room.
        """
        if self._line.waiting(now) + size > self.conditions.queue_bytes:
            return None
        arrival = self._carry(size, now)
        return None if self._lose(self._rng) else self._land(arrival, now)

    def _carry(self, size: int, now: float) -> float:
        """Return when a packet that is not lost is through, besides order and freezes."""
        return self._line.serve(size, now) + self._delay(now)

    def _land(self, arrival: float, now: float) -> float:
        if not self.conditions.reorders:
            arrival = self._last = max(arrival, self._last)
        while self._freezes and self._freezes[0][1] <= now:
            self._freezes.popleft()
        for begin, end in self._freezes:
            if begin <= arrival < end:
                arrival = end
        return arrival

    def _delay(self, now: float) -> float:
        conditions, rng = self.conditions, self._rng
        if conditions.reorders:
            offset = rng.uniform(-conditions.jitter, conditions.jitter)
        else:
            offset = max(-1.0, min(1.0, self._drift(now))) * conditions.jitter
        return max(conditions.least_delay, conditions.delay + offset)

    def _drift(self, now: float) -> float:
        """Return where delays are: 0 in the middle, half a jitter of standard deviation."""
        kept = math.exp(min(0.0, self._drawn_at - now) / JITTER_SECONDS)
        self._drawn_at = now
        self._bearing = kept * self._bearing + self._rng.gauss(
            0.0, 0.5 * math.sqrt(1 - kept * kept)
        )
        return self._bearing


class ReliableLink(Link):
    """Segments of a byte stream: each arrives, in order; a loss shows as delay.

    The model is TCP's repair without its congestion control. A lost segment is sent again after a
    round trip and a quarter of one, when the acknowledgements of later segments have given it
    away (fast retransmit, RFC 5681 §3.2; the quarter, RFC 8985 §6.2). If that is lost too, each
    further attempt waits for the retransmission timeout of RFC 6298, which doubles, with Linux's
    least of 0.2 s. What was sent behind it waits (head of line). Nothing is dropped for want of
    room: a sender keeps what does not fit, and who calls bounds that.

    Args:
        conditions: What happens to segments; `reorders` shows as jitter only.
        rng: Draws loss and jitter.
        return_delay: Seconds that an acknowledgement takes back; None for `conditions.delay`.
    """

    def __init__(
        self, conditions: Conditions, rng: Generator, *, return_delay: float | None = None
    ) -> None:
        super().__init__(conditions, rng)
        self._return = conditions.delay if return_delay is None else return_delay
        self._timer = RetransmissionTimer()

    def send(self, size: int, now: float) -> float:
        """Send a segment.

        Returns:
            The instant at which it can be read; infinity if the connection has been given up.
        """
        first = self._carry(size, now)
        arrival = self._repaired(first, first + self._return - now)
        self._last = max(arrival, self._last)
        return self._land(self._last, now)

    def _repaired(self, first: float, round_trip: float) -> float:
        """Return when the first copy arrives that is not lost."""
        if not self._lose(self._rng):
            self._timer.measure(round_trip)  # of first copies alone (Karn, RFC 6298 §3)
            return first
        waited = round_trip * (1 + REORDERING_WINDOW)
        timeout = self._timer.timeout
        for _ in range(MAX_REPAIRS):
            if not self._lose(self._rng):
                return first + waited
            waited += timeout
            timeout = RetransmissionTimer.doubled(timeout)
        return math.inf


class Bottleneck:
    """The slowest link on the way: serves one packet after the other.

    Args:
        periods: Seconds and bits per second, again and again from instant 0 on.
    """

    def __init__(self, periods: tuple[tuple[float, float], ...]) -> None:
        self._periods = periods
        self._cycle = sum(seconds for seconds, _ in periods)
        self._per_cycle = sum(seconds * rate for seconds, rate in periods)
        self._waiting: deque[tuple[float, int]] = deque()
        self._waiting_bytes = 0
        self._free_at = -math.inf

    def waiting(self, now: float) -> int:
        """Return the bytes that are not through at `now`."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            self._waiting_bytes -= waiting.popleft()[1]
        return self._waiting_bytes

    def serve(self, size: int, now: float) -> float:
        """Take a packet; return when its last bit has left."""
        self.waiting(now)
        self._free_at = self._finish(size * 8.0, max(now, self._free_at))
        self._waiting.append((self._free_at, size))
        self._waiting_bytes += size
        return self._free_at

    def _finish(self, bits: float, begin: float) -> float:
        """Return when so many bits have left, if the first may leave at `begin`."""
        at = begin
        if bits > self._per_cycle:
            cycles = math.ceil(bits / self._per_cycle) - 1  # so that some are left
            bits = max(0.0, bits - cycles * self._per_cycle)
            at += cycles * self._cycle
        passed = at % self._cycle
        while True:
            for seconds, rate in self._periods:
                if passed >= seconds:
                    passed -= seconds
                    continue
                room = (seconds - passed) * rate
                if bits <= room:
                    return at + (bits / rate if bits else 0.0)
                bits -= room
                at += seconds - passed
                passed = 0.0
            passed = 0.0  # rounding may have left a little more than a cycle


def _each_way(round_trip: float, jitter: float, loss: float, rate: float = math.inf) -> Conditions:
    """Return one of two equal directions."""
    return Conditions(delay=round_trip / 2, jitter=jitter / 2, loss=Loss(loss), rate=rate)


@dataclass(frozen=True, slots=True)
class Profile:
    """A network, both directions."""

    up: Conditions
    down: Conditions


def _alike(conditions: Conditions) -> Profile:
    return Profile(conditions, conditions)


PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "good": _alike(_each_way(0.010, 0.005, 0.0)),
        "lossy": _alike(_each_way(0.050, 0.030, 0.05)),
        "very_bad": _alike(_each_way(0.200, 0.100, 0.15)),
        "3g": Profile(_each_way(0.100, 0.100, 0.01, 384e3), _each_way(0.100, 0.100, 0.01)),
    }
)
"""The articles' networks (R14): figures are of a round trip, half of them each way; loss is that of
each direction."""
