"""The client's side of one connection: greeting, heartbeat, and what concerns no stream."""

from __future__ import annotations

import math
from abc import abstractmethod

from legato.errors import ConnectionLost
from legato.protocol.codec import decode_server
from legato.protocol.faults import error_from
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import (
    Draining,
    Error,
    FlowControl,
    Hello,
    Ping,
    Pong,
    ServerMessage,
    Welcome,
)
from legato.session.client_stream import ClientStream
from legato.session.events import DrainAnnounced, LinkStalled, Paced, SessionFailed, Welcomed
from legato.session.machine import Session
from legato.session.pulse import Pulse
from legato.session.states import LinkSignal, LinkState, StreamState


class ClientLink(Session[ClientStream]):
    """The connection's half of a client's machine; `ClientSession` adds the streams.

    Args:
        hello: Sent first on every connection.

    Attributes:
        welcome: The server's last answer to hello.
    """

    def __init__(self, hello: Hello) -> None:
        super().__init__()
        self._hello = hello
        self._pulse = Pulse()
        self._token: str | None = None
        self._pace: float | None = None
        self.welcome: Welcome | None = None

    @property
    def rtt(self) -> float | None:
        """Round-trip time in seconds of the last ping, or None."""
        return self._pulse.rtt

    def receive(self, data: str | bytes, now: float) -> None:
        """Take one WebSocket message: control as str, audio as bytes.

        Raises:
            ProtocolError: If the server breaks the rules; close the connection.
        """
        self._pulse.hear(now)
        if not self._up:
            return
        if isinstance(data, bytes):
            self._receive_frame(decode_frame(data), now)
        else:
            self._receive_message(decode_server(data), now)

    def handle_timer(self, now: float) -> None:
        """Act on what is due: pings, acks, repeats."""
        self._handle_streams(now)
        if now < self._own_timer():
            return
        if not self._pulse.asking:
            self._send(self._pulse.ask(now))
            return
        silence = self._pulse.silence(now)
        greeting = self.link is LinkState.GREETING
        what = "the server does not answer hello" if greeting else f"no answer for {silence:.1f} s"
        self._pulse.begin(now, asking=greeting)
        self._tell(LinkStalled(ConnectionLost(what)))

    def _own_timer(self) -> float:
        if not self._up:
            return math.inf
        return self._pulse.due_at(active=self._is_active())

    def _is_active(self) -> bool:
        return any(stream.state is not StreamState.SUSPENDED for stream in self.streams.values())

    @abstractmethod
    def _receive_frame(self, frame: AudioFrame, now: float) -> None:
        """Take an audio frame."""

    def _receive_message(self, message: ServerMessage, now: float) -> None:
        match message:
            case Welcome():
                self._receive_welcome(message, now)
            case Ping():
                self._send(Pong(id=message.id, time=message.time))
            case Pong():
                self._pulse.answered(message, now)
            case FlowControl():
                self._obey(message, now)
                self._tell(Paced(message))
            case Draining():
                self._receive_draining(message)
            case Error(stream=None):
                self._tell(SessionFailed(error_from(message)))
            case _:
                self._receive_stream_message(message, now)

    def _receive_welcome(self, welcome: Welcome, now: float) -> None:
        self._signal(LinkSignal.GREET)
        self.welcome = welcome
        self._token = welcome.resume_token
        self._pulse.heartbeat = welcome.heartbeat
        self._pulse.begin(now, asking=False)
        self._tell(Welcomed(welcome))
        if self._pace is not None:
            self._send(FlowControl(rate=self._pace))

    def _receive_draining(self, draining: Draining) -> None:
        if draining.resume_token is not None:
            self._token = draining.resume_token
        self._tell(DrainAnnounced(draining.deadline))

    @abstractmethod
    def _receive_stream_message(self, message: ServerMessage, now: float) -> None:
        """Take a message about one stream."""
