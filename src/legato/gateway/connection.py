"""One connection: its client, and the streams behind its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from legato.errors import (
    AuthError,
    EpochChanged,
    Internal,
    LegatoError,
    SessionExpired,
    StreamExists,
)
from legato.gateway.bugs import note_bug
from legato.gateway.catalog import Choice
from legato.gateway.identity import Identify, Identity
from legato.gateway.ports import Socket
from legato.gateway.relay import Relay
from legato.gateway.shell import Shell
from legato.gateway.streams import Streams
from legato.protocol.messages import Error, Notice, Resume, StreamStart
from legato.session.events import (
    Acknowledged,
    Greeted,
    Received,
    ResumeRequested,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamRequested,
    StreamStopped,
)
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream
from legato.session.states import LinkState
from legato.session.stream import Stream
from legato.telemetry.metrics import STREAMS

GONE: Final = frozenset({EpochChanged.code, SessionExpired.code})
"""Ends of streams of which the bus has nothing any more."""


class Connection(Shell):
    """Does what a session tells: opens, feeds, resumes and forgets streams.

    Args:
        socket: The accepted WebSocket.
        session: Its machine.
        streams: The gateway's stream service.
        identify: Finds out who speaks.
        headers: Of the opening request, lower case.
        slow_timeout: Seconds that the peer may refuse to read.
    """

    __slots__ = ("_headers", "_held", "_identify", "_identity", "_relays", "_streams")

    def __init__(
        self,
        socket: Socket,
        session: ServerSession,
        streams: Streams,
        *,
        identify: Identify,
        headers: Mapping[str, str],
        slow_timeout: float,
    ) -> None:
        super().__init__(socket, session, slow_timeout=slow_timeout)
        self._streams = streams
        self._identify = identify
        self._headers = headers
        self._identity: Identity | None = None
        self._relays: dict[Stream, Relay] = {}
        self._held: int | ServerStream | None = None

    # what streams say

    def wake(self) -> None:
        """Send what has come for the client, once for all streams of this turn."""
        self._flush_soon()

    def pass_error(self, stream: ServerStream, message: Error) -> None:
        """Hand a worker's last word to the client and forget the stream."""
        self._session.pass_error(stream, message)
        self._forget(stream, message.code)

    def pass_notice(self, stream: ServerStream, message: Notice) -> None:
        """Hand a worker's news to the client."""
        self._session.pass_notice(stream, message)

    def replaced(self, relay: Relay) -> None:
        """Another connection has taken a stream over."""
        self._relays.pop(relay.stream, None)
        self._session.replaced(relay.stream)
        self._flush_soon()

    # events

    def _on_greeted(self, event: Greeted, now: float) -> None:
        try:
            self._identity = self._identify(self._headers, event.hello.auth)
        except AuthError as error:
            self._session.close(error)
        self._headers = {}

    def _on_requested(self, event: StreamRequested, now: float) -> None:
        start = event.start
        try:
            identity = self._who()
        except AuthError as error:
            self._session.close(error)
            return
        if start.framing == "raw":  # it may send all it has before it is accepted
            self._hold(start.stream)
        self._streams.spawn(self._open(identity, start))

    def _on_resume(self, event: ResumeRequested, now: float) -> None:
        try:
            identity = self._who()
        except AuthError as error:
            self._session.close(error)
            return
        self._streams.spawn(self._resume(identity, event.resume))

    def _take_over(self, relay: Relay) -> None:
        self._streams.adopt(relay, self)
        self._relays[relay.stream] = relay
        if relay.fault is not None:
            self.pass_error(relay.stream, relay.fault)
        self._flush_soon()

    def _on_received(self, event: Received, now: float) -> None:
        stream = event.stream
        assert isinstance(stream, ServerStream)  # noqa: S101  (this side has no other)
        relay = self._relays.get(stream)
        if relay is None:
            return
        try:
            relay.push(event.items)
        except LegatoError as error:
            self._session.fail(stream, error)
        if stream.raw and stream.congested:
            self._hold(stream)

    def _on_acknowledged(self, event: Acknowledged, now: float) -> None:
        relay = self._relays.get(event.stream)
        if relay is not None and relay.acknowledged():
            self._streams.acquaint(relay)

    def _on_ended(self, event: StreamFinished | StreamFailed | StreamStopped, now: float) -> None:
        if isinstance(event, StreamFailed):
            note_bug(event.error)
            self._forget(event.stream, event.error.code)
        else:
            self._forget(event.stream, "ok")

    def _on_failed(self, event: SessionFailed, now: float) -> None:
        self._close(event.error)

    # streams

    async def _open(self, identity: Identity, start: StreamStart) -> None:
        """Open a stream; goes on when the connection is lost, so that nothing is left behind."""
        session = self._session
        try:
            choice = await self._prepare(identity, start)
        except LegatoError as error:
            self._refuse(start, error)
            return
        except Exception as error:  # noqa: BLE001  a bug: its client must not wait for an answer
            bug = Internal()
            bug.__cause__ = error
            self._refuse(start, bug)
            return
        if choice is None:
            return
        now = self._loop.time()
        stream = session.accept(start.stream, engine=choice.engine, voice=choice.voice, now=now)
        self._release(start.stream)
        if stream is None and not (self._lost and start.framing != "raw"):
            await self._streams.abandon(identity, start.stream_id)
        elif stream is None:
            await self._streams.submit(self._streams.keep(identity, start, choice))
        else:
            await self._begin(stream, identity)

    def _refuse(self, start: StreamStart, error: LegatoError) -> None:
        STREAMS.labels(task=start.task, outcome=error.code).inc()
        note_bug(error)
        self._session.refuse(start.stream, error)
        self._release(start.stream)
        self._flush_soon()

    async def _begin(self, stream: ServerStream, identity: Identity) -> None:
        relay = self._streams.relay(identity, stream, listener=self)
        self._relays[stream] = relay
        self._flush_soon()
        try:
            await self._streams.submit(relay)
        except LegatoError as error:
            self._session.fail(stream, error)
            self._flush_soon()

    async def _prepare(self, identity: Identity, start: StreamStart) -> Choice | None:
        """Choose who does a stream; None if it was there, and goes on here now."""
        streams, token = self._streams, self._session.resume_token
        try:
            return await streams.prepare(identity, start, token=token)
        except StreamExists:
            relay = await streams.find_unknown(identity, start, token=token)
            if relay is None and await streams.clear(identity, start):
                return await streams.prepare(identity, start, token=token)
            if relay is None:
                raise
        known, now = relay.stream, self._loop.time()
        stream = self._session.accept(
            start.stream, engine=known.engine, voice=known.voice, now=now, known=known
        )
        if stream is not None:
            self._take_over(relay)
        return None

    async def _resume(self, identity: Identity, resume: Resume) -> None:
        """Go on with a stream; if this connection is lost meanwhile, it is parked again."""
        session = self._session
        try:
            relay = await self._streams.find(identity, resume, token=session.resume_token)
        except LegatoError as error:
            note_bug(error)
            session.refuse(resume.stream, error)
            self._flush_soon()
            return
        holder = relay.listener
        if holder is not None and holder is not self:
            holder.replaced(relay)
            self._streams.park(relay)
        if session.attach(relay.stream, resume, self._loop.time()):
            self._take_over(relay)
        self._flush_soon()

    def _hold(self, what: int | ServerStream) -> None:
        """Read no more until a raw stream is accepted, or its worker has caught up."""
        self._held = what
        self._session.reading_paused()
        self._socket.pause()

    def _release(self, number: int) -> None:
        if self._held == number:
            self._read_again()

    def _part(self) -> None:
        for stream in self._session.detach():
            relay = self._relays.pop(stream, None)
            if relay is not None:
                self._streams.park(relay)

    def _relieve(self) -> None:
        held = self._held
        if isinstance(held, ServerStream) and (held.over or not held.congested):
            self._read_again()

    def _read_again(self) -> None:
        self._held = None
        self._session.reading_resumed(self._loop.time())
        self._socket.resume()

    def _forget(self, stream: Stream, outcome: str) -> None:
        relay = self._relays.pop(stream, None)
        if relay is not None:
            STREAMS.labels(task=stream.start.task, outcome=outcome).inc()
            if outcome in GONE:
                self._streams.forget(relay)
            else:
                self._streams.drop(relay)
        if self._session.link is LinkState.RAW:
            self._close()

    def _who(self) -> Identity:
        if self._identity is None:  # raw framing has no hello
            self._identity = self._identify(self._headers, None)
            self._headers = {}
        return self._identity

    HANDLERS: ClassVar[Mapping[type, Callable[[Any, Any, float], None]]] = {
        Greeted: _on_greeted,
        StreamRequested: _on_requested,
        ResumeRequested: _on_resume,
        Received: _on_received,
        Acknowledged: _on_acknowledged,
        StreamFinished: _on_ended,
        StreamFailed: _on_ended,
        StreamStopped: _on_ended,
        SessionFailed: _on_failed,
    }
