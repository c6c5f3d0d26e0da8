"""How a client asks a server for its streams: to start, to resume, to begin anew."""

from __future__ import annotations

from typing import Final

from legato.errors import (
    Draining,
    EpochChanged,
    LegatoError,
    ResumeGap,
    SessionExpired,
    StreamExists,
)
from legato.protocol.messages import Hello, Resume
from legato.protocol.messages import Stop as StopMessage
from legato.session.client_link import ClientLink
from legato.session.client_stream import ClientStream
from legato.session.events import Received, StreamFailed, StreamRecovered
from legato.session.lane import INF, RESEND_AFTER
from legato.session.states import LinkSignal, StreamSignal, StreamState

LOST: Final = (SessionExpired, EpochChanged)
"""Errors of a stream whose history the server has not; its client can begin the next epoch."""

GOING: Final = frozenset({StreamState.OPEN, StreamState.RESUMING})
"""States of a stream that may have a history."""


class ClientRequests(ClientLink):
    """The asking half of a client's machine; `ClientSession` adds what the server says.

    Args:
        hello: Sent first on every connection.
        reliable: Whether the transport keeps order and loses nothing.
    """

    def __init__(self, hello: Hello, *, reliable: bool) -> None:
        super().__init__(hello)
        self._reliable = reliable
        self._lost: dict[ClientStream, LegatoError] = {}

    def connected(self, now: float) -> None:
        """A connection is there: say hello, and start what was never started."""
        self._signal(LinkSignal.CONNECT)
        self._pulse.begin(now, asking=True)
        self._send(self._hello)
        for stream in self.streams.values():
            if stream.state is StreamState.STARTING:
                self._ask(stream, now)

    def disconnected(self, now: float) -> None:
        """The connection is lost; streams wait for the next one."""
        self._signal(LinkSignal.LOSE)
        self._frames.clear()
        for stream in list(self.streams.values()):
            stream.signal(StreamSignal.LOSE)
            if stream.token is None:
                self._start_again(stream, now)

    def _ask(self, stream: ClientStream, now: float) -> None:
        """Ask the server to start or to resume `stream`."""
        stream.asked_at = now
        if stream.state is StreamState.RESUMING:
            self._send(
                Resume(
                    stream=stream.number,
                    stream_id=stream.start.stream_id,
                    token=stream.token or "",
                    epoch=stream.epoch,
                    received_seq=stream.inbound.expected - 1,
                    sent_seq=stream.out.sent_seq,
                )
            )
        else:
            self._send(stream.start)

    def _start_again(self, stream: ClientStream, now: float) -> None:
        """The server never saw the start: it was lost with the connection that carried it."""
        stream.signal(StreamSignal.RESTART)
        self._rewind(stream, 0, now)
        if self._up and not stream.over:
            stream.token = self._token
            self._ask(stream, now)

    def _begin_epoch(self, stream: ClientStream, error: LegatoError, now: float) -> None:
        """The server has lost the stream's history: say again what is not done with."""
        self._lost[stream] = error
        stream.signal(StreamSignal.RESTART)
        ends = stream.begin_epoch(now)
        if self._rate is not None:
            stream.out.set_rate(self._rate, now)
        self._tell(StreamRecovered(stream))
        if ends:
            self._tell(Received(stream, ends))
        stream.token = self._token
        self._ask(stream, now)

    def _may_wait(self, stream: ClientStream, error: LegatoError) -> bool:
        """Whether a stream may wait for another try: it was under way, or met a drain."""
        if stream.state is StreamState.STARTING:
            return stream in self._lost or (isinstance(error, Draining) and not stream.raw)
        return stream.state is StreamState.RESUMING

    def _may_begin_epoch(self, stream: ClientStream) -> bool:
        """Whether a start that goes on is understood: one repeated is not on its way."""
        if stream.raw or stream.state not in GOING:
            return False
        return stream.confirmed or stream.state is StreamState.RESUMING

    def _is_untouched(self, stream: ClientStream) -> bool:
        """Whether nothing came of a stream that was to be resumed, so that it can begin anew."""
        return (
            stream.state is StreamState.RESUMING
            and stream.inbound.expected == 0
            and stream.out.complete
        )

    def _tell_gap(self, stream: ClientStream, now: float) -> None:
        if stream.state is StreamState.OPEN:
            stream.signal(StreamSignal.RESUME)
            self._ask(stream, now)

    def next_timer(self, now: float) -> float:
        """When `handle_timer` wants to be called, or inf."""
        wake = super().next_timer(now)
        if not self._reliable and self._up:
            for stream in self.streams.values():
                if stream.asking:
                    wake = min(wake, stream.asked_at + RESEND_AFTER)
        return wake

    def _handle_streams(self, now: float) -> None:
        super()._handle_streams(now)
        if self._reliable or not self._up:
            return
        for stream in self.streams.values():
            if stream.asked_at == -INF:
                stream.asked_at = now
            elif stream.asking and now >= stream.asked_at + RESEND_AFTER:
                self._ask(stream, now)

    def _rewind(self, stream: ClientStream, seq: int, now: float) -> None:
        try:
            stream.out.rewind(seq, now)
        except ResumeGap as gap:
            self._fail(stream, gap)

    def _fail(self, stream: ClientStream, error: LegatoError) -> None:
        loss = self._lost.pop(stream, None)
        if loss is not None and isinstance(error, StreamExists):
            error = loss  # it was deleted, and cannot begin anew
        stream.signal(StreamSignal.FAIL)
        self.streams.pop(stream.number, None)
        if self._up and not error.remote:
            self._send(StopMessage(stream=stream.number))
        self._tell(StreamFailed(stream, error))

    def _give_up_on(self, stream: ClientStream, error: LegatoError) -> None:
        self._fail(stream, error)
