"""The shell around one connection's session: socket, turns, timer, and the end."""

from __future__ import annotations

import asyncio
import hmac
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from legato.errors import Draining, Internal, LegatoError, SlowConsumer
from legato.gateway.notes import digest
from legato.gateway.ports import Socket
from legato.session.machine import ROOM_BYTES
from legato.session.server import ServerSession
from legato.telemetry.logs import logger

log = logger(__name__)

NORMAL_CLOSE: Final = 1000
ABNORMAL_CLOSE: Final = 1006
"""What a connection that broke without a close frame is counted as (RFC 6455 §7.1.5)."""


class Shell:
    """Drives a session: what arrives goes in, what it says is sent, and its timer is kept.

    Args:
        socket: The accepted WebSocket.
        session: Its machine.
        slow_timeout: Seconds that the peer may refuse to read.

    Attributes:
        close_code: What the connection was closed with.
        HANDLERS: What to do at each of the session's events.
    """

    __slots__ = (
        "_blocked_at",
        "_done",
        "_loop",
        "_lost",
        "_session",
        "_slow_timeout",
        "_socket",
        "_timer",
        "_timer_at",
        "_woken",
        "close_code",
    )

    HANDLERS: ClassVar[Mapping[type, Callable[[Any, Any, float], None]]]

    def __init__(self, socket: Socket, session: ServerSession, *, slow_timeout: float) -> None:
        self._socket = socket
        self._session = session
        self._slow_timeout = slow_timeout
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._blocked_at: float | None = None
        self._woken = False
        self._lost = False
        self.close_code = NORMAL_CLOSE

    # what the socket says

    def receive(self, data: str | bytes) -> None:
        """Take one message; see `gateway.ports.Sink`."""
        self._attempt(self._session.receive, data, self._loop.time())

    def flush(self) -> None:
        """Do what the session asks for; what it has to say leaves with what follows from that."""
        if not self._done.done():
            self._attempt(self._take_in, self._loop.time())

    def lost(self) -> None:
        """The socket is gone."""
        if self._lost:
            return
        self._lost = True
        self._attempt(self._handle_events, self._loop.time())  # what came just before
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._part()
        if not self._done.done():
            self.close_code = NORMAL_CLOSE if self._socket.closed_by_peer else ABNORMAL_CLOSE
            self._done.set_result(None)

    # what the gateway says

    async def run(self) -> None:
        """Serve until either side closes."""
        try:
            self._arm(self._loop.time())
            await self._done
        finally:
            self.lost()

    def drain(self, deadline: float) -> None:
        """Tell the client that the server goes away in `deadline` seconds."""
        self._session.drain(deadline)
        self._flush_soon()

    def leave(self) -> None:
        """Close in good order: the client may go on elsewhere."""
        self._close(Draining())

    # for who impairs it

    @property
    def socket(self) -> Socket:
        """The accepted WebSocket."""
        return self._socket

    @property
    def session_id(self) -> str:
        """What welcome named it."""
        return self._session.session_id

    def admits(self, token: str) -> bool:
        """Whether `token` is the one that welcome gave."""
        return hmac.compare_digest(digest(token), digest(self._session.resume_token))

    # for the streams

    def _relieve(self) -> None:
        """A turn is over: read again, if nothing stands against it."""
        raise NotImplementedError

    def _part(self) -> None:
        """The connection is lost: let go of its streams."""
        raise NotImplementedError

    def _flush_soon(self) -> None:
        """Have a turn taken soon, one for all that asks for it until then."""
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._take_turn)

    def _close(self, error: LegatoError | None = None) -> None:
        """Say what is left to say, and close."""
        if self._done.done():
            return
        self._done.set_result(None)
        self.close_code = NORMAL_CLOSE if error is None else error.close_code or NORMAL_CLOSE
        self._socket.write(self._session.take_frames(self._loop.time(), room_bytes=0))
        self._socket.close(self.close_code, "" if error is None else error.code)

    # a turn

    def _take_turn(self) -> None:
        """Do what the session asks for, send what it has to say, and set the timer."""
        self._woken = False
        if not self._done.done():
            self._attempt(self._go_on, self._loop.time())

    def _take_in(self, now: float) -> None:
        """Do what the session asks for, and take a turn if it has something to say."""
        self._handle_events(now)
        if self._woken or self._done.done():
            return
        wake = self._session.next_timer(now)
        if wake <= now or self._blocked_at is not None:
            self._flush_soon()
        else:
            self._arm(now, wake)

    def _go_on(self, now: float) -> None:
        self._handle_events(now)
        self._send(now)
        self._relieve()
        self._arm(now)

    def _handle_events(self, now: float) -> None:
        while events := self._session.take_events():
            for event in events:
                self.HANDLERS[type(event)](self, event, now)

    def _send(self, now: float) -> None:
        socket = self._socket
        if not socket.is_writable:
            self._note_blocked(now)
            return
        self._blocked_at = None
        frames = self._session.take_frames(now, room_bytes=ROOM_BYTES - socket.unsent_bytes)
        if frames:
            socket.write(frames)
            self._handle_events(now)

    def _note_blocked(self, now: float) -> None:
        if self._blocked_at is None:
            self._blocked_at = now
        elif now >= self._blocked_at + self._slow_timeout:
            self._session.close(SlowConsumer(f"nothing was read for {self._slow_timeout:g} s"))
            self._handle_events(now)

    def _arm(self, now: float, wake: float | None = None) -> None:
        """Set the timer, to `wake` if that is known."""
        if self._done.done():
            return
        if self._blocked_at is not None:  # the socket calls when it can be written to again
            wake = self._blocked_at + self._slow_timeout
        elif wake is None:
            wake = self._session.next_timer(now)
        if self._timer is not None:
            if wake >= self._timer_at:
                return
            self._timer.cancel()
        self._timer_at = wake
        self._timer = None
        if wake < math.inf:
            self._timer = self._loop.call_at(max(wake, now + 0.001), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._attempt(self._session.handle_timer, self._loop.time())
        self._take_turn()

    def _attempt(self, step: Callable[..., object], *arguments: object) -> None:
        """Take a step in which a bug must end this connection, and not the server."""
        try:
            step(*arguments)
        except Exception:  # top of a callback
            log.exception("connection failed")
            error = Internal()
            self._session.close(error)
            self._close(error)
