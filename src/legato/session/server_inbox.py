"""What a client says about its streams, taken in by the server's machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from legato.errors import (
    Internal,
    LegatoError,
    MalformedMessage,
    ProtocolError,
    RateLimited,
    SequenceGap,
    SlowConsumer,
    StreamExists,
    UnexpectedMessage,
)
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import (
    MAX_NUMBER,
    Ack,
    Cancel,
    ClientMessage,
    Error,
    Finalize,
    Flush,
    Heartbeat,
    Limits,
    Notice,
    NumberedMessage,
    Resume,
    Stop,
    StreamEnd,
    StreamStart,
    SwitchDown,
    SwitchUp,
    Text,
)
from legato.session.attempts import Attempts
from legato.session.events import (
    Acknowledged,
    ResumeRequested,
    StreamFailed,
    StreamFinished,
    StreamRequested,
    StreamStopped,
)
from legato.session.inbound import DELIVERED, Verdict
from legato.session.lane import Item
from legato.session.lobby import Lobby
from legato.session.offer import check_start
from legato.session.server_link import ServerLink
from legato.session.server_stream import ServerStream
from legato.session.states import RAW, LinkSignal, LinkState, StreamSignal
from legato.session.stream import seq_of


class ServerInbox(ServerLink):
    """The receiving half of a server's machine; `ServerSession` adds what the shell says.

    Args:
        session_id: Named in welcome.
        resume_token: Given in welcome.
        now: Monotonic seconds.
        limits: Given in welcome, and enforced.
        heartbeat: Given in welcome.
        idle_timeout: Seconds without a word from the client until the session fails.
        reliable: Whether the transport keeps order and loses nothing.
    """

    def __init__(
        self,
        *,
        session_id: str,
        resume_token: str,
        now: float,
        limits: Limits | None = None,
        heartbeat: Heartbeat | None = None,
        idle_timeout: float = 90.0,
        reliable: bool = True,
    ) -> None:
        super().__init__(
            session_id=session_id,
            resume_token=resume_token,
            now=now,
            limits=limits or Limits(),
            heartbeat=heartbeat or Heartbeat(),
            idle_timeout=idle_timeout,
        )
        self._reliable = reliable
        self._lobby = Lobby(self._limits.max_streams)
        self._attempts = Attempts(self._limits.max_streams)
        self._touched: dict[int, ServerStream] = {}
        self._raw_number = 0

    def refuse(self, number: int, error: LegatoError) -> None:
        """Turn a requested stream or resume down; its frames are dropped silently."""
        self._lobby.forget(number)
        self._attempts.answer(number, error)
        self._send(error_message(error, number))

    def fail(self, stream: ServerStream, error: LegatoError) -> None:
        """End one stream with a fault; others go on."""
        if not stream.over:
            self.pass_error(stream, error_message(error, stream.number))
            self._tell(StreamFailed(stream, error))

    def pass_error(self, stream: ServerStream, message: Error) -> None:
        """Hand a worker's error to the client: the stream's last word."""
        if stream.over:
            return
        stream.signal(StreamSignal.FAIL)
        self._remove(stream)
        self._pass(msgspec.structs.replace(message, stream=stream.number))

    # audio and numbered entries

    def _receive_audio(self, data: bytes, now: float) -> None:
        if self.link is RAW:
            self._take_or_hold(self._raw_number, None, AudioFrame(data), now)
            return
        frame = decode_frame(data)
        stream = self.streams.get(frame.stream)
        if stream is None:
            self._take_or_hold(frame.stream, frame.seq, frame, now)
        else:
            self._take_entry(stream, frame.seq, frame, now)

    def _receive_numbered(self, message: NumberedMessage, now: float) -> None:
        if self.link is RAW:
            self._take_or_hold(self._raw_number, None, message, now)
        else:
            self._take_or_hold(message.stream, seq_of(message), message, now)

    def _take_or_hold(self, number: int, seq: int | None, item: Item, now: float) -> None:
        stream = self._find(number)
        if stream is not None:
            self._take_entry(stream, seq, item, now)
            return
        try:
            held = self._lobby.hold(number, seq, item)
        except RateLimited as error:
            self.refuse(self._lobby.resolve(number), error)
            return
        # On a link that reorders, the start may still come, and the entry comes again.
        if not held and self._reliable:
            self._lobby.forget(number)  # one strike is enough for all that was pipelined
            raise UnexpectedMessage(f"stream {number} is not open on this connection")

    def _take_entry(self, stream: ServerStream, seq: int | None, item: Item, now: float) -> None:
        try:
            verdict = stream.take(seq, item, now)
        except LegatoError as error:
            self.fail(stream, error)
            return
        if verdict is DELIVERED:
            self._touched[stream.number] = stream
        elif verdict is Verdict.GAP:
            self._tell_gap(stream, now)

    # control messages

    def _blame(self, data: str | bytes, error: ProtocolError) -> None:
        number = _start_number(data) if isinstance(error, MalformedMessage) else None
        if number is None or self.link is LinkState.GREETING or self._is_used(number):
            super()._blame(data, error)
        else:
            self.refuse(number, error)

    def _is_used(self, number: int) -> bool:
        return number in self.streams or self._lobby.asked(number) is not None

    def _receive_stream_message(self, message: ClientMessage, now: float) -> None:
        self._HANDLERS[type(message)](self, message, now)

    def _receive_start(self, start: StreamStart, now: float) -> None:
        if self.link is RAW and not self.streams and not self._lobby:
            self._raw_number = start.stream
        running = self.streams.get(start.stream)
        known = running.start if running is not None else self._lobby.asked(start.stream)
        if known is None:
            self._request(start)
        elif known != start:
            error = StreamExists(f"stream {start.stream} was started with other parameters")
            self._send(error_message(error, start.stream))
        elif running is not None:
            self._send(running.started())

    def _request(self, start: StreamStart) -> None:
        try:
            check_start(start)
            self._lobby.check(start, self.streams.values())
            self._check_framing(raw=start.framing == "raw")
        except LegatoError as error:
            self.refuse(start.stream, error)
            return
        self._lobby.ask(start)
        self._tell(StreamRequested(start))

    def _check_framing(self, *, raw: bool) -> None:
        alone = not self.streams and not self._lobby
        if raw and alone and self.link is LinkState.OPEN:
            self._signal(LinkSignal.RAW_START)
        if raw != (self.link is RAW) or (raw and not alone):
            raise UnexpectedMessage("raw framing takes a connection of its own, for one stream")

    def _receive_ack(self, ack: Ack, now: float) -> None:
        stream = self._find(ack.stream)
        if stream is None:
            return
        stream.acquaint(self.resume_token)
        stream.out.samples.grant(ack.credit_samples)
        stream.out.acknowledge(ack.received_seq, ack.received_seq, now)
        if ack.played_upto is not None:
            stream.played_upto = ack.played_upto
        received = min(ack.received_seq, stream.out.sent_seq)
        self._tell(Acknowledged(stream, received, ack.played_upto))
        if 0 <= stream.end_seq <= ack.received_seq:
            self._finish(stream)

    def _receive_stop(self, stop: Stop, now: float) -> None:
        stream = self._find(stop.stream)
        if stream is not None:
            stream.signal(StreamSignal.END)
            self._remove(stream)
            self._tell(StreamStopped(stream))
        elif self._lobby.knows(stop.stream):
            self._lobby.forget(stop.stream)
        else:
            raise UnexpectedMessage(f"stream {stop.stream} is not open on this connection")

    def _receive_resume(self, resume: Resume, now: float) -> None:
        if self.link is not LinkState.OPEN:
            raise UnexpectedMessage("resume comes after hello, and not with raw framing")
        try:
            self._attempts.ask(resume.stream)
        except RateLimited as error:
            self.close(error)
            return
        self._tell(ResumeRequested(resume))

    # details

    def _handle_streams(self, now: float) -> None:
        super()._handle_streams(now)
        for stream in list(self.streams.values()):
            if stream.is_ignored(now):
                self.fail(stream, SlowConsumer("nothing was acknowledged: send ack while you read"))

    def _find(self, number: int) -> ServerStream | None:
        if number == 0 and self._lobby.knows(0):
            return self.streams.get(0)
        return super()._find(number)

    def _tell_gap(self, stream: ServerStream, now: float) -> None:
        gap = SequenceGap(
            f"entry {stream.inbound.expected} is missing; resend from there",
            expected=stream.inbound.expected,
        )
        self._send(error_message(gap, stream.number))

    def _pass(self, message: Error | Notice) -> None:
        """Send what a worker wrote; what cannot be written is our fault, and told as such."""
        try:
            self._send(message)
        except LegatoError:
            self._send(error_message(Internal(), message.stream))

    def _finish(self, stream: ServerStream) -> None:
        end = stream.end
        assert end is not None  # noqa: S101  (narrows the type)
        stream.signal(StreamSignal.END)
        self._remove(stream)
        self._tell(StreamFinished(stream, end, intact=True))

    def _remove(self, stream: ServerStream) -> None:
        self.streams.pop(stream.number, None)
        self._touched.pop(stream.number, None)
        self._lobby.forget(stream.number)

    _HANDLERS: ClassVar[Mapping[type, Callable[[ServerInbox, Any, float], None]]] = {
        StreamStart: _receive_start,
        Ack: _receive_ack,
        Stop: _receive_stop,
        Resume: _receive_resume,
        Text: _receive_numbered,
        Flush: _receive_numbered,
        Finalize: _receive_numbered,
        Cancel: _receive_numbered,
        StreamEnd: _receive_numbered,
        SwitchDown: _receive_numbered,
        SwitchUp: _receive_numbered,
    }


class _Start(msgspec.Struct, tag_field="type", tag="stream_start"):
    stream: int = 0


_START = msgspec.json.Decoder(_Start)


def _start_number(data: str | bytes) -> int | None:
    """Return which stream a malformed `stream_start` was to start; None if it is none."""
    if isinstance(data, bytes):
        return None
    try:
        number = _START.decode(data).stream
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return number if 0 <= number <= MAX_NUMBER else None
