"""When a client asks whether its peer is still there."""

from __future__ import annotations

import math

from legato.protocol.messages import Heartbeat, Ping, Pong


class Pulse:
    """The heartbeat of one connection (docs/protocol.md, rule 17).

    Silence makes a ping due; silence after the ping makes the connection count as lost. Data is
    as good as a pong for that, as a pong may queue behind much of it.

    Attributes:
        heartbeat: The profile, as the server gives it.
        rtt: Round-trip time in seconds of the last ping, or None.
    """

    __slots__ = ("_asked_at", "_heard_at", "_number", "heartbeat", "rtt")

    def __init__(self) -> None:
        self.heartbeat = Heartbeat()
        self.rtt: float | None = None
        self._heard_at = 0.0
        self._asked_at = math.inf
        self._number = 0

    def begin(self, now: float, *, asking: bool) -> None:
        """A connection is there, or counts as new; `asking` tells whether an answer is owed."""
        self._heard_at = now
        self._asked_at = now if asking else math.inf

    def hear(self, now: float) -> None:
        """Something arrived."""
        self._heard_at = now

    def due_at(self, *, active: bool) -> float:
        """When to ping, or when to give up if an answer is owed.

        Args:
            active: Whether a stream is open.
        """
        if self.asking:
            return max(self._asked_at, self._heard_at) + self.heartbeat.timeout
        return self._heard_at + (self.heartbeat.active if active else self.heartbeat.idle)

    @property
    def asking(self) -> bool:
        """Whether an answer is owed."""
        return self._asked_at < math.inf

    def silence(self, now: float) -> float:
        """Return the seconds since the peer was heard."""
        return now - self._heard_at

    def ask(self, now: float) -> Ping:
        """Return the ping to send."""
        self._number += 1
        self._asked_at = now
        return Ping(id=self._number, time=now)

    def answered(self, pong: Pong, now: float) -> None:
        """A pong arrived; one of an older ping is no answer."""
        if pong.id == self._number and self.asking:
            self.rtt = now - self._asked_at
            self._asked_at = math.inf
