"""A client and a server session over links that lose, delay, reorder and break, in virtual time.

Client and server are driven by the same loop; what lies behind the server, a gateway would do:
it accepts streams, keeps those whose connection is lost, and has them go on where they are resumed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from legato.errors import EpochChanged, SessionExpired, StreamExists
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Hello, StreamStart
from legato.session.client import ClientSession
from legato.session.client_stream import ClientStream
from legato.session.events import (
    Event,
    LinkStalled,
    Received,
    ResumeRequested,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamRequested,
)
from legato.session.lane import Item
from legato.session.server import ServerSession
from tests.simulation.link import Conditions, Data, Link
from tests.simulation.parrot import Parrot

TURNS_AT_ONCE = 200
"""Turns of the loop at one instant after which it counts as spinning."""


def unrepeated(data: Data) -> bool:
    """Whether a message is one that the protocol never repeats, and so may not get lost."""
    kinds = ('{"type":"hello"', '{"type":"welcome"', '{"type":"error"')
    return isinstance(data, str) and data.startswith(kinds) and "sequence_gap" not in data


@dataclass(slots=True)
class Connection:
    """One WebSocket, as both ends see it."""

    up: Link
    down: Link
    server: ServerSession
    noticed_at: float = math.inf
    """When the server learns that it is cut."""


@dataclass(slots=True)
class Parked:
    """A stream in the gateway's care, and who listens to it."""

    parrot: Parrot
    listener: ServerSession | None


class Gateway:
    """What a real gateway does for its connections, reduced to one process and no waiting.

    Args:
        step: Seconds that a frame takes the application.
        reliable: Whether links keep order and lose nothing.

    Attributes:
        parrots: The application of each stream.
        accepted: How many streams were begun.
    """

    def __init__(self, *, step: float, reliable: bool) -> None:
        self.parrots: dict[str, Parrot] = {}
        self.accepted = 0
        self._step = step
        self._reliable = reliable
        self._streams: dict[str, Parked] = {}
        self._tokens = itertools.count()

    def open(self, now: float) -> ServerSession:
        """Answer a connection."""
        number = next(self._tokens)
        return ServerSession(
            session_id=f"s{number}",
            resume_token=f"token-{number}",
            now=now,
            reliable=self._reliable,
        )

    def handle(self, session: ServerSession, event: Event, now: float) -> None:
        """Do what a session asks for."""
        match event:
            case StreamRequested():
                self._start(session, event, now)
            case ResumeRequested():
                self._resume(session, event, now)
            case Received():
                parked = self._streams.get(event.stream.start.stream_id)
                if parked is not None:
                    parked.parrot.stream.stored(event.items[-1].seq or 0, now)
                    parked.parrot.hear(event.items, now)
            case StreamFailed(error=EpochChanged()):
                pass
            case StreamFinished() | StreamFailed():
                self._streams.pop(event.stream.start.stream_id, None)

    def lost(self, session: ServerSession) -> None:
        """A connection is known to be lost: keep its streams."""
        for stream in session.detach():
            parked = self._streams.get(stream.start.stream_id)
            if parked is not None and parked.listener is session:
                parked.listener = None

    def forget_all(self) -> None:
        """Lose every stream, as a restart does."""
        self._streams.clear()

    def lose(self, *, whole: bool) -> None:
        """Find out that the bus has lost of every stream something, or the whole of it."""
        for name, parked in list(self._streams.items()):
            if not parked.parrot.stream.acquainted:
                del self._streams[name]
            if parked.listener is not None:
                parked.listener.fail(parked.parrot.stream, EpochChanged("something is lost"))
                parked.listener = None
        if whole:
            self.forget_all()

    def work(self, now: float) -> None:
        """Let the applications do what is due."""
        for parked in self._streams.values():
            parked.parrot.work(now)

    @property
    def due_at(self) -> float:
        """When an application has something to do."""
        return min((parked.parrot.due_at for parked in self._streams.values()), default=math.inf)

    def _start(self, session: ServerSession, event: StreamRequested, now: float) -> None:
        name, number = event.start.stream_id, event.start.stream
        parked = self._streams.get(name)
        if parked is not None and self._may_clear(parked, event.start):
            parked = None
        if parked is None:
            stream = session.accept(number, engine="parrot", voice=None, now=now)
            if stream is not None:
                self.accepted += 1
                self.parrots[name] = Parrot(stream, step=self._step)
                self._streams[name] = Parked(self.parrots[name], session)
        elif parked.parrot.stream.acquainted:
            session.refuse(number, StreamExists(f"{name} runs"))
        else:
            self._take_over(parked, session)
            known = parked.parrot.stream
            session.accept(number, engine="parrot", voice=None, now=now, known=known)

    def _resume(self, session: ServerSession, event: ResumeRequested, now: float) -> None:
        resume = event.resume
        parked = self._streams.get(resume.stream_id)
        if parked is None or not self._admits(parked, resume.token):
            session.refuse(resume.stream, SessionExpired("unknown here"))
            return
        if parked.parrot.stream.over:
            session.refuse(resume.stream, EpochChanged("something was lost"))
            return
        self._take_over(parked, session)
        if not session.attach(parked.parrot.stream, resume, now):
            parked.listener = None

    def _may_clear(self, parked: Parked, start: StreamStart) -> bool:
        """Whether a client begins anew what is still here."""
        where, stream = start.continues, parked.parrot.stream
        if where is None or where.epoch <= stream.epoch:
            return False
        return self._admits(parked, where.token)

    def _admits(self, parked: Parked, token: str) -> bool:
        return parked.parrot.stream.admits(token)

    def _take_over(self, parked: Parked, session: ServerSession) -> None:
        if parked.listener is not None and parked.listener is not session:
            parked.listener.replaced(parked.parrot.stream)
        parked.listener = session


@dataclass(slots=True)
class Heard:
    """What a client was told about one stream."""

    items: list[Item] = field(default_factory=list)
    upto: int = 0
    finished: StreamFinished | None = None
    failed: StreamFailed | None = None

    @property
    def is_over(self) -> bool:
        """Whether the client was told that the stream is over."""
        return self.finished is not None or self.failed is not None


class Pair:
    """The world of a simulation.

    Args:
        rng: Decides all that is left to chance.
        conditions: Of the links, both ways.
        reliable: Whether they keep order and lose nothing (but break).
        step: Seconds that a frame takes the server's application.

    Attributes:
        now: Virtual seconds.
        client: The client's session.
        gateway: The server's side.
        heard: What the client was told, by stream.
        connection: The present one, or None.
        reconnect_after: Seconds from the loss of a connection to the next one.
        listening: Whether the client's application takes what it is told.
    """

    def __init__(
        self,
        rng: Random,
        conditions: Conditions | None = None,
        *,
        reliable: bool = True,
        step: float = 0.01,
    ) -> None:
        self.now = 0.0
        self.client = ClientSession(Hello(version=1), reliable=reliable)
        self.gateway = Gateway(step=step, reliable=reliable)
        self.heard: dict[ClientStream, Heard] = {}
        self.connection: Connection | None = None
        self.reconnect_after = 0.1
        self.listening = True
        self._conditions = conditions or Conditions()
        self._rng = rng
        self._consumes = True
        self._connections: list[Connection] = []
        self._connect_at = 0.0

    def consume(self, consumes: bool) -> None:
        """Have the client's application give credit for what it hears from now on, or not."""
        self._consumes = consumes
        for stream, heard in self.heard.items():
            if consumes:
                stream.consumed(heard.upto, self.now)

    def run_until(self, end: float) -> None:
        """Let time pass."""
        turns = 0
        while True:
            self._turn()
            wake = self._next_at()
            turns = turns + 1 if wake <= self.now else 0
            assert turns < TURNS_AT_ONCE, f"the loop spins at {self.now}"
            if wake > end:
                self.now = max(self.now, end)
                return
            self.now = max(self.now, wake)

    def run_until_over(self, streams: Sequence[ClientStream], *, patience: float = 300.0) -> None:
        """Let time pass until the client was told that `streams` are over."""
        end = self.now + patience
        while not all(self.heard[stream].is_over for stream in streams):
            assert self.now < end, "a stream never ends"
            self.run_until(self.now + 0.5)

    def cut(self, *, noticed_after: float = 0.0) -> None:
        """Break the connection: the client notices at once, the server later."""
        connection = self.connection
        if connection is None:
            return
        connection.up.cut()
        connection.down.cut()
        connection.noticed_at = self.now + noticed_after
        self.connection = None
        self.client.disconnected(self.now)
        self._connect_at = self.now + self.reconnect_after

    def _connect(self) -> None:
        self._connect_at = math.inf
        up, down = (Link(self._conditions, self._rng, unrepeated) for _ in range(2))
        self.connection = Connection(up, down, self.gateway.open(self.now))
        self._connections.append(self.connection)
        self.client.connected(self.now)

    def _turn(self) -> None:
        now = self.now
        if now >= self._connect_at:
            self._connect()
        self.gateway.work(now)
        for connection in list(self._connections):
            self._serve(connection)
        if self.connection is not None:
            self._run_client(self.connection)

    def _serve(self, connection: Connection) -> None:
        now, session = self.now, connection.server
        if now >= connection.noticed_at:
            self.gateway.lost(session)
            self._connections.remove(connection)
            return
        for data in connection.up.arrivals(now):
            session.receive(data, now)
        if now >= session.next_timer(now):
            session.handle_timer(now)
        self._tell_gateway(session)
        self.gateway.work(now)
        for frame in session.take_frames(now):
            connection.down.send(frame, now)
        self._tell_gateway(session)

    def _tell_gateway(self, session: ServerSession) -> None:
        for event in session.take_events():
            assert not isinstance(event, SessionFailed) or event.error.code == "session_replaced"
            self.gateway.handle(session, event, self.now)

    def _run_client(self, connection: Connection) -> None:
        now, client = self.now, self.client
        for data in connection.down.arrivals(now):
            client.receive(data, now)
        if now >= client.next_timer(now):
            client.handle_timer(now)
        stalled = self.listening and self.listen()
        for frame in client.take_frames(now):
            connection.up.send(frame, now)
        if stalled:
            self.cut(noticed_after=1.0)

    def listen(self) -> bool:
        """Have the client's application take what there is; whether the link counts as lost."""
        stalled = False
        for event in self.client.take_events():
            match event:
                case Received(stream=ClientStream() as stream):
                    self._hear(stream, event.items)
                case StreamFinished(stream=ClientStream() as stream):
                    self._heard(stream).finished = event
                case StreamFailed(stream=ClientStream() as stream):
                    self._heard(stream).failed = event
                case LinkStalled():
                    stalled = True
                case SessionFailed():
                    raise AssertionError(event.error)
        return stalled

    def _heard(self, stream: ClientStream) -> Heard:
        return self.heard.setdefault(stream, Heard())

    def _hear(self, stream: ClientStream, items: Sequence[Item]) -> None:
        heard = self._heard(stream)
        heard.items.extend(items)
        for item in items:
            if isinstance(item, AudioFrame):
                heard.upto = item.sample + len(item.payload) // 2
        if self._consumes:
            stream.consumed(heard.upto, self.now)

    def _next_at(self) -> float:
        wake = min(self._connect_at, self.gateway.due_at)
        for connection in self._connections:
            wake = min(
                wake,
                connection.up.next_at,
                connection.noticed_at,
                connection.server.next_timer(self.now),
            )
        if self.connection is not None:
            wake = min(wake, self.connection.down.next_at, self.client.next_timer(self.now))
        return wake
