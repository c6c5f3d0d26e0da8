"""The server's side of one connection: greeting, strikes, timers, and the closing."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Final

from legato.errors import IdleTimeout, LegatoError, ProtocolError, SlowConsumer, UnexpectedMessage
from legato.protocol.codec import decode_client
from legato.protocol.faults import error_message
from legato.protocol.messages import (
    ClientMessage,
    Draining,
    FlowControl,
    Heartbeat,
    Hello,
    Limits,
    Message,
    Ping,
    Pong,
    StreamStart,
    Welcome,
)
from legato.protocol.version import agree_features, agree_version
from legato.session.events import Greeted, SessionFailed
from legato.session.machine import Session
from legato.session.server_stream import ServerStream
from legato.session.states import GREETING, LinkSignal, LinkState

HELLO_DEADLINE: Final = 5.0
"""Seconds for the first message (docs/protocol.md, rule 1)."""

STRIKES: Final = 5
"""Broken messages after which a connection is closed with 4400."""

MAX_ANSWERS: Final = 1024
"""Control messages that may wait for a client that asks and does not read."""


class ServerLink(Session[ServerStream]):
    """The connection's half of a server's machine; `ServerSession` adds the streams.

    Args:
        session_id: Named in welcome.
        resume_token: Given in welcome.
        now: Monotonic seconds.
        limits: Given in welcome, and enforced.
        heartbeat: Given in welcome.
        idle_timeout: Seconds without a word from the client until the session fails.
    """

    def __init__(
        self,
        *,
        session_id: str,
        resume_token: str,
        now: float,
        limits: Limits,
        heartbeat: Heartbeat,
        idle_timeout: float,
    ) -> None:
        super().__init__()
        self.session_id = session_id
        self.resume_token = resume_token
        self._limits = limits
        self._heartbeat = heartbeat
        self._idle_timeout = idle_timeout
        self._patience = idle_timeout
        self._heard_at = now
        self._opened_at = now
        self._strikes = 0
        self._signal(LinkSignal.CONNECT)

    def receive(self, data: str | bytes, now: float) -> None:
        """Take one WebSocket message: control as str, audio as bytes."""
        self._heard_at = now
        if not self._up:
            return
        try:
            if isinstance(data, bytes):
                self._receive_audio(data, now)
            else:
                self._receive_message(decode_client(data), now)
        except ProtocolError as error:
            self._blame(data, error)

    def close(self, error: LegatoError) -> None:
        """End the session with a fault; the shell closes with `error.close_code`."""
        if self.link is LinkState.CLOSED:
            return
        self._signal(LinkSignal.CLOSE)
        self._send(error_message(error, None))
        self._tell(SessionFailed(error))

    def reading_paused(self) -> None:
        """The shell reads no more for now: that nothing is heard is not the client's fault."""
        self._patience = math.inf

    def reading_resumed(self, now: float) -> None:
        """The shell reads again."""
        self._patience = self._idle_timeout
        self._heard_at = now

    def drain(self, deadline: float) -> None:
        """Tell the client that the server goes away in `deadline` seconds."""
        self._send(Draining(deadline=deadline, resume_token=self.resume_token))

    def handle_timer(self, now: float) -> None:
        """Act on what is due."""
        if now >= self._own_timer():
            waited = HELLO_DEADLINE if self.link is LinkState.GREETING else self._idle_timeout
            self.close(IdleTimeout(f"nothing heard for {waited:g} s"))
        self._handle_streams(now)

    def _own_timer(self) -> float:
        if self.link is GREETING:
            return self._opened_at + HELLO_DEADLINE
        return self._heard_at + self._patience if self._up else math.inf

    def _blame(self, data: str | bytes, error: ProtocolError) -> None:
        """Say what is wrong with a message; too much of that closes the session."""
        self._strikes += 1
        if self._strikes >= STRIKES or error.close_code != ProtocolError.close_code:
            self.close(error)
        else:
            self._send(error_message(error, None))

    def _send(self, message: Message) -> None:
        super()._send(message)
        if len(self._frames) > MAX_ANSWERS:
            self.close(SlowConsumer("answers are not read; read while you ask"))

    # what the client says

    @abstractmethod
    def _receive_audio(self, data: bytes, now: float) -> None:
        """Take a binary message."""

    def _receive_message(self, message: ClientMessage, now: float) -> None:
        match message:
            case Hello():
                self._receive_hello(message)
            case Ping():
                self._send(Pong(id=message.id, time=message.time))
            case Pong():
                pass
            case FlowControl():
                self._expect_open(message)
                self._obey(message, now)
            case _:
                self._expect_open(message)
                self._receive_stream_message(message, now)

    def _expect_open(self, message: ClientMessage) -> None:
        if self.link is not LinkState.GREETING:
            return
        if not isinstance(message, StreamStart) or message.framing != "raw":
            raise UnexpectedMessage("hello comes first")
        self._signal(LinkSignal.RAW_START)

    def _receive_hello(self, hello: Hello) -> None:
        if self.link is not LinkState.GREETING:
            raise UnexpectedMessage("hello comes once, first")
        try:
            version = agree_version(hello.version)
        except ProtocolError as error:
            self.close(error)
            return
        self._signal(LinkSignal.GREET)
        self._send(
            Welcome(
                version=version,
                session_id=self.session_id,
                resume_token=self.resume_token,
                features=agree_features(hello.features),
                limits=self._limits,
                heartbeat=self._heartbeat,
            )
        )
        self._tell(Greeted(hello))

    @abstractmethod
    def _receive_stream_message(self, message: ClientMessage, now: float) -> None:
        """Take a message about one stream."""
