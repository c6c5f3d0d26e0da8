"""Servers that follow one another: each goes on from what the last one left with the stream."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

from legato.bus.base import Direction, Record
from legato.errors import EpochChanged, LegatoError, SessionExpired, StreamExists
from legato.flow.places import DownPlace, Struck
from legato.gateway.notes import DownNote, UpNote, all_struck, down_note, encode, up_note
from legato.protocol.messages import NO_SEQ
from legato.session.events import (
    Event,
    Received,
    ResumeRequested,
    StreamFailed,
    StreamFinished,
    StreamRequested,
)
from legato.session.lane import Item
from legato.session.offer import check_start
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream
from legato.session.states import StreamSignal
from tests.simulation.pair import Gateway, Parked
from tests.simulation.parrot import Parrot

Entries = list[tuple[int, Item | Struck]]
"""Items of a log, and the number that each counts for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """What becomes of a stream.

    Attributes:
        moves: Share of resumes that come to another server.
        trims: Share of turns after which each log is trimmed.
        store_delay: Seconds at the most until the log has what came; what it has not by the time
            another server goes on is lost.
    """

    moves: float = 0.7
    trims: float = 0.3
    store_delay: float = 0.0


@dataclass(slots=True)
class Shelf:
    """What is stored of one stream; of down, the application has what is not trimmed.

    Attributes:
        up: The log.
        notes: As on the bus.
        tokens: What resumes it.
        coming: What is on its way into the log, and when it is there.
        trimmed_seq: Last entry of down that is trimmed.
        struck: Of cancels, behind the place that is noted.
        place: That the client has passed.
        cancels: Of the present server, that are in `struck`.
    """

    up: Entries = field(default_factory=list)
    notes: dict[str, Record] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    coming: deque[tuple[float, Entries]] = field(default_factory=deque)
    trimmed_seq: int = NO_SEQ
    struck: tuple[Struck, ...] = ()
    place: DownPlace = DownPlace()  # noqa: RUF009  (frozen)
    cancels: int = 0


class Succession(Gateway):
    """As many servers as there are moves, one after the other.

    Args:
        rng: Decides what `luck` leaves open.
        luck: What becomes of streams.
        step: See `Gateway`.

    Attributes:
        moved: How often another server went on.
        shelves: What is stored, by stream.
    """

    def __init__(self, rng: Random, luck: Luck, *, step: float) -> None:
        super().__init__(step=step, reliable=True)
        self.moved = 0
        self.shelves: dict[str, Shelf] = {}
        self._rng = rng
        self._luck = luck

    def handle(self, session: ServerSession, event: Event, now: float) -> None:
        match event:
            case StreamRequested() | ResumeRequested():
                super().handle(session, event, now)
            case Received(stream=ServerStream() as stream):
                if self._is_present(stream):
                    self._store_later(stream, event, now)
            case StreamFinished() | StreamFailed():
                if self._is_present(event.stream):
                    super().handle(session, event, now)

    def work(self, now: float) -> None:
        for name, parked in self._streams.items():
            shelf = self.shelves[name]
            while shelf.coming and shelf.coming[0][0] <= now:
                self._store(shelf, parked.parrot, shelf.coming.popleft()[1], now)
        super().work(now)
        for name, parked in self._streams.items():
            self._trim(self.shelves[name], parked.parrot)

    @property
    def due_at(self) -> float:
        shelves = (self.shelves[name] for name in self._streams)
        stores = (shelf.coming[0][0] for shelf in shelves if shelf.coming)
        return min(super().due_at, min(stores, default=math.inf))

    def _is_present(self, stream: object) -> bool:
        return any(parked.parrot.stream is stream for parked in self._streams.values())

    # the log

    def _store_later(self, stream: ServerStream, event: Received, now: float) -> None:
        shelf = self.shelves[stream.start.stream_id]
        items: Entries = [(item.seq or 0, item) for item in event.items]
        fresh = stream.cancels - shelf.cancels
        if fresh:
            shelf.cancels = stream.cancels
            struck = list(stream.struck)[-fresh:]
            shelf.struck += (*struck,)
            items = [*((items[0][0], one) for one in struck), *items]
        due = now + self._rng.choice((0.0, 0.5, 1.0)) * self._luck.store_delay
        if shelf.coming:
            due = max(due, shelf.coming[-1][0])
        shelf.coming.append((due, items))

    def _store(self, shelf: Shelf, parrot: Parrot, entries: Entries, now: float) -> None:
        shelf.up += entries
        parrot.stream.stored(entries[-1][0], now)
        parrot.hear([item for _, item in entries if not isinstance(item, Struck)], now)

    def _trim(self, shelf: Shelf, parrot: Parrot) -> None:
        stream, trims = parrot.stream, self._luck.trims
        place = shelf.place = stream.take_down_place() or shelf.place
        upto = min(stream.committed_seq, stream.up_place.seq)
        if shelf.up and shelf.up[0][0] <= upto and self._rng.random() < trims:
            shelf.up = [entry for entry in shelf.up if entry[0] > upto]
            up = UpNote(entry=1, place=stream.up_place, struck=shelf.struck)
            shelf.notes[Direction.UP.value] = Record(encode(up), 1)
        if place.seq > shelf.trimmed_seq and self._rng.random() < trims:
            # Any part of it may be trimmed; the note covers what was passed.
            shelf.trimmed_seq = self._rng.randint(shelf.trimmed_seq + 1, place.seq)
            shelf.struck = tuple(one for one in shelf.struck if one.utterance > place.ended)
            down = DownNote(entry=1, read=1, place=place, struck=shelf.struck)
            shelf.notes[Direction.DOWN.value] = Record(encode(down), 1)

    # from one server to the next

    def _start(self, session: ServerSession, event: StreamRequested, now: float) -> None:
        name, number = event.start.stream_id, event.start.stream
        parked = self._streams.get(name)
        if parked is not None and self._may_clear(parked, event.start):
            del self._streams[name]
            parked = None
        if parked is None:
            self.shelves[name] = Shelf(tokens=(session.resume_token,))
            super()._start(session, event, now)
            return
        if parked.parrot.stream.acquainted:
            session.refuse(number, StreamExists(f"{name} runs"))
            return
        self._take_over(parked, session)
        known = self._next_of(parked, NO_SEQ, now)
        session.accept(number, engine="parrot", voice=None, now=now, known=known)
        self.shelves[name].tokens = (session.resume_token,)

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
        try:
            stream = self._next_of(parked, resume.received_seq, now)
        except LegatoError as error:
            del self._streams[resume.stream_id]
            session.refuse(resume.stream, error)
            return
        if session.attach(stream, resume, now):
            self.shelves[resume.stream_id].tokens = (resume.token, session.resume_token)

    def _admits(self, parked: Parked, token: str) -> bool:
        return token in self.shelves[parked.parrot.stream.start.stream_id].tokens

    def _next_of(self, parked: Parked, received_seq: int, now: float) -> ServerStream:
        """Return the stream as the server has it that goes on with it: mostly another one."""
        old, parrot = parked.parrot.stream, parked.parrot
        if self._rng.random() >= self._luck.moves:
            return old
        self.moved += 1
        shelf = self.shelves[old.start.stream_id]
        shelf.coming.clear()
        stream = ServerStream(old.start, check_start(old.start))
        stream.acquainted = old.acquainted
        stream.signal(StreamSignal.STARTED)
        stream.signal(StreamSignal.LOSE)
        stream.relay(parrot.said[shelf.trimmed_seq + 1 :])
        stream.committed(old.committed_seq, old.samples.consumed, old.chars.consumed, now)
        self._restore(stream, shelf, received_seq, now)
        parrot.stream = stream
        return stream

    def _restore(self, stream: ServerStream, shelf: Shelf, received_seq: int, now: float) -> None:
        came, went = up_note(shelf.notes), down_note(shelf.notes)
        behind: list[Item] = []
        for seq, item in shelf.up:
            if not isinstance(item, Struck) and seq > came.place.seq:
                behind.append(item)
        stream.restore_up(came.place, behind, now)
        logged = tuple(item for _, item in shelf.up if isinstance(item, Struck))
        shelf.struck = all_struck(came, went, logged)
        stream.restore_down(went.place, shelf.struck, received_seq=received_seq, now=now)
        shelf.place = went.place
        shelf.cancels = stream.cancels
