"""What both ends of a connection share: the machine that a shell drives.

A shell hands in what arrives (`receive`), takes out what to send (`take_frames`) and what to
tell (`take_events`), and wakes the machine at `next_timer`. One loop serves client, gateway
and simulation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Final, Generic, TypeVar

from legato.errors import LegatoError
from legato.protocol.codec import encode
from legato.protocol.messages import FlowControl, Message
from legato.session.events import Event
from legato.session.states import LINK, UP, LinkSignal, LinkState, advance
from legato.session.stream import Stream

ROOM_BYTES: Final = 65_536
"""Most bytes handed out by one `take_frames`: what a socket may hold unsent (R5)."""

AnyStream = TypeVar("AnyStream", bound=Stream)


class Session(ABC, Generic[AnyStream]):
    """One connection's machine.

    Attributes:
        link: State of the connection, see `session.states`.
        streams: Open streams by number.
    """

    def __init__(self) -> None:
        self.link = LinkState.IDLE
        self.streams: dict[int, AnyStream] = {}
        self._up = False
        self._frames: list[str | bytes] = []
        self._events: list[Event] = []
        self._rate: float | None = None
        self._turn = 0

    def take_events(self) -> list[Event]:
        """Take what the application should know, in order."""
        events = self._events
        if events:
            self._events = []
        return events

    def take_frames(self, now: float, *, room_bytes: int = ROOM_BYTES) -> list[str | bytes]:
        """Take what to send now: text messages as str, audio as bytes, most urgent first.

        Args:
            now: Monotonic seconds.
            room_bytes: Entries stop when about this much was taken; the rest waits for the next
                call, so that a cancel still finds it here.
        """
        frames, self._frames = self._frames, []
        if not self._up:
            return frames
        for stream in self.streams.values():
            if now >= stream.ack_at and stream.sending:
                frames.append(encode(stream.take_ack(now)))
        if len(self.streams) > 1:
            self._take_in_turn(frames, now, room_bytes)
        elif self.streams and stream.sending:
            self._take_from(stream, frames, now, room_bytes)
        return frames

    def _take_from(
        self, stream: AnyStream, frames: list[str | bytes], now: float, room_bytes: int
    ) -> int:
        try:
            return stream.take_frames(frames, now, room_bytes=room_bytes)
        except LegatoError as error:
            self._give_up_on(stream, error)
            return room_bytes

    def _take_in_turn(self, frames: list[str | bytes], now: float, room_bytes: int) -> None:
        """Take one entry of each stream after the other, beginning with another one each time."""
        waiting = [stream for stream in self.streams.values() if stream.sending]
        self._turn += 1
        first = self._turn % max(1, len(waiting))
        waiting = waiting[first:] + waiting[:first]
        while waiting:
            still = []
            for stream in waiting:
                if room_bytes <= 0:
                    return
                before = len(frames)
                room_bytes -= 1 - self._take_from(stream, frames, now, 1)
                if len(frames) > before:
                    still.append(stream)
            waiting = still

    @abstractmethod
    def _give_up_on(self, stream: AnyStream, error: LegatoError) -> None:
        """An entry of a stream cannot be coded."""

    def next_timer(self, now: float) -> float:
        """When `handle_timer` wants to be called, or inf."""
        if self._frames:
            return now
        wake = self._own_timer()
        for stream in self.streams.values():
            due = stream.next_timer(now)
            if due < wake:
                wake = due
        return wake

    @abstractmethod
    def _own_timer(self) -> float:
        """When the connection itself wants to be looked at, or inf."""

    def _handle_streams(self, now: float) -> None:
        for stream in self.streams.values():
            stream.out.repeat_if_stalled(now)
            if now >= stream.give_up_at:
                stream.give_up_at = math.inf
                stream.inbound.give_up()
                self._tell_gap(stream, now)

    @abstractmethod
    def _tell_gap(self, stream: AnyStream, now: float) -> None:
        """An entry of a stream is missing."""

    def _obey(self, control: FlowControl, now: float) -> None:
        """Send at the pace that the peer asks for; one for all holds for later streams too."""
        if control.stream is None:
            self._rate = control.rate
            for stream in self.streams.values():
                stream.out.set_rate(control.rate, now)
        elif (stream_paced := self._find(control.stream)) is not None:
            stream_paced.out.set_rate(control.rate, now)

    def _send(self, message: Message) -> None:
        self._frames.append(encode(message))

    def _tell(self, event: Event) -> None:
        self._events.append(event)

    def _signal(self, signal: LinkSignal) -> None:
        self.link = advance(LINK, self.link, signal)
        self._up = self.link in UP

    def _find(self, number: int) -> AnyStream | None:
        """Return the stream of this number; 0 means the only one."""
        stream = self.streams.get(number)
        if stream is None and number == 0 and len(self.streams) == 1:
            return next(iter(self.streams.values()))
        return stream
