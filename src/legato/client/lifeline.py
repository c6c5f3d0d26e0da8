"""The shell around a client session, which outlives the sockets that it speaks over."""

from __future__ import annotations

import asyncio
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.dialing import dial
from legato.client.recovery import Recovery, is_passing
from legato.client.wire import Socket, Wire
from legato.errors import ERRORS, ConnectionLost, Draining, Internal, LegatoError
from legato.protocol.messages import Hello
from legato.protocol.version import VERSION
from legato.session.client import ClientSession
from legato.session.states import LinkState, StreamState
from legato.session.stream import Stream

CLIENT_NAME: Final = "legato-python"

PING_GRACE: Final = 0.5
"""Seconds that the answer to a ping may take before a second socket is tried (rule 17)."""

WAITING: Final = frozenset({StreamState.SUSPENDED, StreamState.RESUMING})
"""States of a stream that is not where it was before a loss."""

REFUSALS: Final = frozenset({4401, 4403})
"""Close codes after which the same key will not be let in."""

Dial = Callable[[ClientConfig], Awaitable[Socket]]
"""Opens a WebSocket, or raises `LegatoError`."""


class Lifeline(ABC):
    """A session and the socket that it speaks over, which is replaced when it is no good any more.

    There are two sockets at the most: while the old one may still be good, or until the streams
    have arrived on the new one.

    Args:
        config: How to connect.
        dial: Opens a WebSocket.
    """

    def __init__(self, config: ClientConfig, *, dial: Dial = dial) -> None:
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._session = ClientSession(Hello(version=VERSION, client=CLIENT_NAME))
        self._channels: dict[Stream, Channel] = {}
        self._welcomed: asyncio.Future[None] = self._loop.create_future()
        self._recovery = Recovery(
            lambda: dial(config),
            rng=random.Random(),  # noqa: S311  (jitter)
            profile=config.profile,
            now=self._loop.time,
        )
        self._wire: Wire | None = None
        self._old: Wire | None = None
        self._redialing: asyncio.Task[None] | None = None
        self._partings: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._watch: asyncio.TimerHandle | None = None
        self._watched_at = 0.0
        self._heard_at = 0.0
        self._fault: LegatoError | None = None
        self._draining = False
        self._leaving = False

    def now(self) -> float:
        """Monotonic seconds, as the session counts them."""
        return self._loop.time()

    def wake(self) -> None:
        """Something is to be sent, or a timer may have moved."""
        if self._wire is not None:
            self._wire.wake()

    # what a wire tells and asks

    def heard(self, wire: Wire, message: str | bytes) -> None:
        """A message has come; one that a replaced wire still brings comes again on the new one."""
        if wire is not self._wire:
            return
        self._heard_at = self.now()
        if self._redialing is not None and not self._draining:
            self._stop_redialing()  # this socket has won the race
        self._session.receive(message, self._heard_at)
        self._handle_events()
        if self._recovery.under_way:
            self._settle()

    def due(self, wire: Wire) -> Sequence[str | bytes]:
        """Return the frames to send now."""
        session = self._session
        now = self.now()
        if wire is self._wire and now >= session.next_timer(now):
            session.handle_timer(now)
            self._handle_events()
        if wire is not self._wire:
            return ()
        # A send waits while the buffer is over its bound, so here is always room for a frame.
        room = self._config.write_buffer_bytes - wire.unsent_bytes
        frames = session.take_frames(now, room_bytes=max(room, 1))
        self._handle_events()
        if not frames:
            self._arm()
        return frames

    def sent(self, wire: Wire) -> None:
        """What was due has left."""
        for channel in self._channels.values():
            channel.progressed()

    def lost(self, wire: Wire) -> None:
        """A socket is gone."""
        if wire is self._wire:
            self._part(_loss(wire.socket))

    def broken(self, wire: Wire, error: LegatoError) -> None:
        """The peer broke the rules, or we have a bug."""
        if wire is self._wire:
            self._lose(error)

    # from socket to socket

    def _attach(self, socket: Socket) -> None:
        self._heard_at = self.now()
        self._session.connected(self._heard_at)
        self._wire = Wire(socket, self)
        self._draining = False
        self.wake()

    def _part(self, error: LegatoError) -> None:
        """The socket is gone, or no good any more; the streams wait for another one."""
        window = self._window
        if window <= 0 or not is_passing(error):
            self._lose(error)
            return
        for channel in [one for one in self._channels.values() if not one.resumable]:
            del self._channels[channel.stream]
            self._session.stop(channel.stream)
            channel.fail(error)
        self._retire()
        self._session.disconnected(self.now())
        self._handle_events()
        if not self._channels:
            self._lose(error)
            return
        for channel in self._channels.values():
            channel.recovering()
        if math.isinf(self._recovery.until):  # what was under way was a move without haste
            self._stop_redialing()
            self._recovery.end()
        self._seek(error, window)

    def _race(self, cause: LegatoError) -> None:
        """The socket is silent: look for another one, and see which is the first to speak."""
        if self._window <= 0 or not self._channels:
            self._lose(cause)
        elif self._redialing is None or math.isinf(self._recovery.until):
            self._seek(cause, self._window)

    def _move(self, cause: LegatoError) -> None:
        """The server goes away: take the streams elsewhere before."""
        if self._window > 0 and self._redialing is None:
            self._seek(cause, math.inf)

    def _seek(self, cause: LegatoError, window: float) -> None:
        if not self._channels or self._fault is not None or self._leaving:
            return
        self._recovery.begin(cause, window)
        if self._redialing is None:
            self._redialing = self._loop.create_task(self._redial())

    async def _redial(self) -> None:
        try:
            socket = await self._recovery.redial()
        except LegatoError as error:
            self._redialing = None
            if self._wire is None or not math.isinf(self._recovery.until):
                self._lose(error)
            else:  # a move: the streams may still end where they are
                self._recovery.end()
            return
        except Exception as error:  # noqa: BLE001  (top of a task: a bug must reach the streams)
            fault = Internal(f"the client failed: {type(error).__name__}: {error}")
            fault.__cause__ = error
            self._lose(fault)
            return
        self._redialing = None
        if self._wire is not None:
            self._drop_old()
            self._old, self._wire = self._wire, None
            self._session.disconnected(self.now())
            self._handle_events()
        self._attach(socket)

    def _stop_redialing(self) -> None:
        task, self._redialing = self._redialing, None
        if task is not None:
            task.cancel()
            self._keep(task)

    def _settle(self) -> None:
        """See whether the trouble is over."""
        if not self._recovery.under_way:
            return
        if not self._channels and self._wire is None:
            self._lose(self._recovery.cause or ConnectionLost())
        elif not self._channels:
            self._stop_redialing()
            self._recovery.end()
            self._drop_old()
        elif self._redialing is None and self._is_settled:
            self._recovery.end()
            self._drop_old()

    @property
    def _is_settled(self) -> bool:
        streams = self._session.streams.values()
        return self._session.link is LinkState.OPEN and not any(
            stream.state in WAITING for stream in streams
        )

    def _lose(self, error: LegatoError) -> None:
        """The connection is over; its streams end with it."""
        if self._fault is not None:
            return
        self._fault = error
        if not self._welcomed.done():
            self._welcomed.set_exception(error)
            self._welcomed.exception()  # it is raised by `open`, or by nobody
        for channel in list(self._channels.values()):
            channel.fail(error)
        self._channels.clear()
        for timer in (self._timer, self._watch):
            if timer is not None:
                timer.cancel()
        self._stop_redialing()
        self._retire()
        self._drop_old()

    def _retire(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            self._keep(self._loop.create_task(wire.close()))

    def _drop_old(self) -> None:
        wire, self._old = self._old, None
        if wire is not None:
            self._keep(self._loop.create_task(wire.close()))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._partings.add(task)
        task.add_done_callback(self._partings.discard)

    @property
    def _window(self) -> float:
        """Seconds that streams can be resumed for, as the client wants it and the server can."""
        welcome = self._session.welcome
        if self._config.profile is None or welcome is None:
            return 0.0
        return welcome.limits.resume_window

    # timers

    def _arm(self) -> None:
        due = self._session.next_timer(self.now())
        if due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer, self._timer_at = None, math.inf
        self.wake()

    def _look_after(self) -> None:
        """Watch over the socket as long as there are streams on it.

        The session asks for signs of life too, but who writes may be held by a full buffer.
        """
        if self._watch is None and self._window > 0:
            self._watched_at = self.now()
            self._watch = self._loop.call_at(self._silent_at, self._check)

    @property
    def _silent_at(self) -> float:
        welcome = self._session.welcome
        assert welcome is not None  # noqa: S101  (there is a window)
        heard_at = max(self._heard_at, self._watched_at)
        return heard_at + welcome.heartbeat.active + PING_GRACE

    def _check(self) -> None:
        self._watch = None
        if not self._channels or self._fault is not None:
            return
        now = self.now()
        if self._redialing is None and now >= self._recovery.until:
            self._lose(self._recovery.given_up())
            return
        if now >= self._silent_at:
            if self._wire is not None:
                self._race(ConnectionLost(f"no sign of life for {now - self._heard_at:.1f} s"))
            self._watched_at = now
        self._watch = self._loop.call_at(self._silent_at, self._check)

    @abstractmethod
    def _handle_events(self) -> None:
        """Take the session's events and do what they call for."""


def _loss(socket: Socket) -> LegatoError:
    """Return what the end of a socket means."""
    code, text = socket.close_code, socket.close_reason
    if code == Draining.close_code:
        return Draining("the server went away; connect again")
    sentence = f"the connection was lost (close code {code}{f', {text}' if text else ''})"
    if code in REFUSALS:
        return next(kind for kind in ERRORS.values() if kind.close_code == code)(sentence)
    return ConnectionLost(sentence)
