"""The client's machine: one session that may live over several connections."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from legato.errors import (
    BadAudio,
    BusUnavailable,
    EngineUnavailable,
    Overloaded,
    ResumeGap,
    SequenceGap,
    SessionExpired,
)
from legato.errors import Draining as DrainingError
from legato.protocol.faults import error_from
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Draining,
    Error,
    FlowControl,
    Hello,
    Notice,
    NumberedMessage,
    Resumed,
    ServerMessage,
    StreamEnd,
    StreamStart,
    StreamStarted,
    SwitchDown,
    SwitchUp,
    Transcript,
    UtteranceEnd,
    Welcome,
)
from legato.protocol.messages import Stop as StopMessage
from legato.session.client_requests import LOST, ClientRequests
from legato.session.client_stream import ClientStream
from legato.session.events import (
    Event,
    Noticed,
    Progressed,
    Received,
    ResumeRefused,
    StreamFinished,
    StreamOpened,
    StreamRecovered,
)
from legato.session.inbound import Verdict
from legato.session.lane import Item
from legato.session.offer import check_start
from legato.session.states import LinkState, StreamSignal, StreamState
from legato.session.stream import seq_of

REMEMBERED: Final = 256
"""Finished streams whose last ack is kept, for a server that missed it."""

PASSING: Final = (DrainingError, Overloaded, BusUnavailable, EngineUnavailable)
"""Refusals that another server, or the same one later, may not repeat."""


HERE: Final = frozenset({StreamState.STARTING, StreamState.OPEN})
"""States of a stream that this connection's server has, or was asked to begin."""


class ClientSession(ClientRequests):
    """Speaks to one server.

    Args:
        hello: Sent first on every connection.
        reliable: Whether the transport keeps order and loses nothing.

    Attributes:
        welcome: The server's last answer to hello.
        rtt: Round-trip time in seconds of the last ping, or None.
    """

    def __init__(self, hello: Hello, *, reliable: bool = True) -> None:
        super().__init__(hello, reliable=reliable)
        self._next_number = 1
        self._finished: OrderedDict[int, Ack] = OrderedDict()

    # streams

    def start(self, start: StreamStart) -> ClientStream:
        """Announce a stream; its input may be queued at once.

        Args:
            start: Parameters; the session gives it the number.

        Raises:
            RequestError: If the parameters cannot be served by any server.
            MalformedMessage: If a field is outside its range.
        """
        audio_format = check_start(start)
        start = msgspec.structs.replace(start, stream=self._next_number)
        self._next_number += 1
        stream = ClientStream(start, audio_format, reliable=self._reliable)
        self.streams[stream.number] = stream
        if self._rate is not None:
            stream.out.set_rate(self._rate, 0.0)
        if self._up:
            self._send(start)
            stream.token = self._token if self.link is LinkState.OPEN else None
        return stream

    def stop(self, stream: ClientStream) -> None:
        """End a stream now and have its data deleted; nothing more of it is told."""
        if self.streams.pop(stream.number, None) is None:
            return
        self._lost.pop(stream, None)
        stream.signal(StreamSignal.END)
        self._events = [event for event in self._events if _stream_of(event) is not stream]
        if self._up:
            self._send(StopMessage(stream=stream.number))

    def pace(self, rate: float, stream: ClientStream | None = None) -> None:
        """Ask the server to send at `rate` times real time; 0 pauses audio.

        Holds for one stream, or for all of the session, until the next; told again after a
        reconnection.
        """
        if stream is None:
            self._pace = rate
            if self.link is LinkState.OPEN:
                self._send(FlowControl(rate=rate))
        else:
            stream.pace = rate
            if stream.state is StreamState.OPEN:
                self._send_pace(stream)

    def take_events(self) -> list[Event]:
        """Take what the application should know, in order."""
        events = super().take_events()
        if any(type(event) is Received for event in events):
            return [still for event in events if (still := _without_cancelled(event)) is not None]
        return events

    # what the server says

    def _receive_stream_message(self, message: ServerMessage, now: float) -> None:
        self._HANDLERS[type(message)](self, message, now)

    def _receive_welcome(self, welcome: Welcome, now: float) -> None:
        super()._receive_welcome(welcome, now)
        for stream in self.streams.values():
            if stream.state is StreamState.SUSPENDED:
                stream.signal(StreamSignal.RESUME)
                self._ask(stream, now)
            else:
                stream.token = self._token

    def _receive_draining(self, draining: Draining) -> None:
        super()._receive_draining(draining)
        for stream in self.streams.values():
            if stream.state in HERE:
                stream.token = self._token

    def _receive_started(self, started: StreamStarted, now: float) -> None:
        stream = self._find(started.stream)
        if stream is None:
            return
        stream.signal(StreamSignal.STARTED)
        self._lost.pop(stream, None)
        stream.epoch = started.epoch
        self._grant(stream, started.credit_samples, started.credit_chars)
        stream.owe_ack(now, at_once=True)
        if stream.confirmed:
            return
        stream.confirmed = True
        self._send_pace(stream)
        self._tell(StreamOpened(stream, started))

    def _receive_resumed(self, resumed: Resumed, now: float) -> None:
        stream = self._find(resumed.stream)
        if stream is None or stream.state is not StreamState.RESUMING:
            return
        if not resumed.recovered:
            missing = resumed.missing
            self._fail(stream, ResumeGap("the server lost the stream's history", missing=missing))
            return
        stream.out.acknowledge(resumed.received_seq, -1, now)
        self._rewind(stream, resumed.received_seq + 1, now)
        if stream.over:
            return
        stream.signal(StreamSignal.RESUMED)
        stream.token = self._token
        stream.epoch = resumed.epoch
        stream.inbound.forget_gap()
        stream.owe_ack(now, at_once=True)
        if stream.confirmed:
            self._send_pace(stream)
        else:
            self._ask(stream, now)
        self._tell(StreamRecovered(stream))

    def _receive_ack(self, ack: Ack, now: float) -> None:
        stream = self._find(ack.stream)
        if stream is None:
            return
        stream.out.acknowledge(ack.received_seq, ack.committed_seq, now)
        stream.committed(ack.committed_upto)
        self._grant(stream, ack.credit_samples, ack.credit_chars)
        self._tell(Progressed(stream))

    def _receive_notice(self, notice: Notice, now: float) -> None:
        stream = self._find(notice.stream)
        if stream is not None:
            self._tell(Noticed(stream, notice))

    def _receive_error(self, message: Error, now: float) -> None:
        stream = self._find(message.stream or 0)
        if stream is None:
            return
        error = error_from(message)
        if isinstance(error, SequenceGap):
            self._rewind(stream, error.expected, now)
        elif isinstance(error, SessionExpired) and self._is_untouched(stream):
            self._start_again(stream, now)
        elif isinstance(error, LOST) and self._may_begin_epoch(stream):
            self._begin_epoch(stream, error, now)
        elif isinstance(error, PASSING) and self._may_wait(stream, error):
            stream.signal(StreamSignal.LOSE)
            self._tell(ResumeRefused(stream, error))
        else:
            self._fail(stream, error)

    def _receive_numbered(self, message: NumberedMessage, now: float) -> None:
        self._take_entry(message.stream, seq_of(message), message, now)

    def _receive_frame(self, frame: AudioFrame, now: float) -> None:
        self._take_entry(frame.stream, frame.seq, frame, now)

    def _take_entry(self, number: int, seq: int, item: Item, now: float) -> None:
        stream = self._find(number)
        if stream is None:
            if number in self._finished:
                self._send(self._finished[number])
            return
        if type(item) is AudioFrame and not stream.is_whole(item.payload):
            sent = f"{len(item.payload)} bytes of {stream.start.codec}"
            self._fail(stream, BadAudio(f"the server sent {sent}"))
            return
        verdict = stream.accept(seq, item, now)
        if verdict is Verdict.DELIVERED:
            self._deliver(stream, now)
        elif verdict is Verdict.GAP:
            self._tell_gap(stream, now)

    def _deliver(self, stream: ClientStream, now: float) -> None:
        items = stream.take_heard(now)
        if items:
            self._tell(Received(stream, items))
        if stream.inbound.ended:
            end = items[-1]
            assert isinstance(end, StreamEnd)  # noqa: S101  (narrows the type)
            self._finish(stream, end, now)

    def _finish(self, stream: ClientStream, end: StreamEnd, now: float) -> None:
        ack = stream.take_ack(now)
        self._send(ack)
        self._finished[stream.number] = ack
        if len(self._finished) > REMEMBERED:
            self._finished.popitem(last=False)
        stream.signal(StreamSignal.END)
        self.streams.pop(stream.number, None)
        self._tell(StreamFinished(stream, end, stream.is_intact(end)))

    # details

    def _grant(self, stream: ClientStream, samples: int | None, chars: int | None) -> None:
        stream.out.samples.grant(samples)
        stream.out.chars.grant(chars)

    def _send_pace(self, stream: ClientStream) -> None:
        if stream.pace is not None:
            self._send(FlowControl(rate=stream.pace, stream=stream.number))

    _HANDLERS: ClassVar[Mapping[type, Callable[[ClientSession, Any, float], None]]] = {
        StreamStarted: _receive_started,
        Resumed: _receive_resumed,
        Ack: _receive_ack,
        Notice: _receive_notice,
        Error: _receive_error,
        Transcript: _receive_numbered,
        UtteranceEnd: _receive_numbered,
        StreamEnd: _receive_numbered,
        SwitchDown: _receive_numbered,
        SwitchUp: _receive_numbered,
    }


def _without_cancelled(event: Event) -> Event | None:
    """Return `event` without frames cancelled since it was told; None if nothing is left."""
    if type(event) is not Received or not isinstance(event.stream, ClientStream):
        return event
    heard = event.stream.without_cancelled(event.items)
    if len(heard) == len(event.items):
        return event
    return Received(event.stream, heard) if heard else None


def _stream_of(event: Event) -> object:
    return getattr(event, "stream", None)
