"""The gateway's stream service: opens, parks, resumes and deletes streams for any surface."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from legato.bus.base import Bus, Record, StreamKey
from legato.bus.voices import OwnVoices
from legato.errors import BusUnavailable, Draining, EpochChanged, ResumeGap, SessionExpired
from legato.gateway.admission import Admission
from legato.gateway.catalog import Catalog, Choice
from legato.gateway.cloning import Voices
from legato.gateway.custody import Admits, Custody
from legato.gateway.identity import Identity
from legato.gateway.notes import KNOWN, StreamNote, stream_note
from legato.gateway.queueing import Queueing
from legato.gateway.relay import Listener, Relay
from legato.gateway.reminders import Reminders
from legato.gateway.upkeep import TTL, Upkeep
from legato.protocol.messages import NO_SEQ, Resume, StreamStart
from legato.session.offer import check_start
from legato.session.server_stream import ServerStream
from legato.session.states import StreamSignal
from legato.telemetry.metrics import STREAMS_ACTIVE

LEEWAY: Final = 10.0
"""Seconds that a stream without a gateway outlives its resume window on the bus."""


class Streams:
    """All streams of this gateway.

    Args:
        bus: Where their logs are.
        resume_window: Seconds that a stream outlives its connection.
        catalog: What the workers offer.
        admission: Refuses what could not be served soon; None lets all in.

    Attributes:
        draining: Whether no more streams are opened.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        resume_window: float,
        catalog: Catalog,
        admission: Admission | None = None,
    ) -> None:
        self.draining = False
        self._bus = bus
        self._resume_window = resume_window
        self._voices = Voices(OwnVoices(bus), catalog)
        self._admission = admission
        self._custody = Custody(bus.logs)
        self._relays: dict[StreamKey, Relay] = {}
        self._expiries: dict[StreamKey, asyncio.TimerHandle] = {}
        self._upkeep = Upkeep(bus.logs, lambda: self._relays)
        self._queueing = Queueing(bus.jobs, has=self._relays.__contains__, spawn=self.spawn)
        self._reminders = Reminders()
        self._served = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """Streams, those included that wait for their client."""
        return len(self._relays)

    def relays(self) -> Collection[Relay]:
        """All of them."""
        return self._relays.values()

    async def until_idle(self) -> None:
        """Wait until no connection has a stream; those without one are not waited for."""
        await self._idle.wait()

    # opening

    async def prepare(self, identity: Identity, start: StreamStart, *, token: str) -> Choice:
        """Choose who does a stream and make its logs.

        Args:
            identity: Whose it is.
            start: Its parameters.
            token: What resumes it.

        Raises:
            RequestError: If it cannot be done as asked, or the id is taken.
            EngineUnavailable: If nobody can do it now.
            Overloaded: If there is no room for it.
            Draining: If the gateway is going away.
        """
        if self.draining:
            raise Draining
        choice = await self._voices.choose(identity.tenant, start)
        notes = self._custody.opening(start, choice, token)
        key = StreamKey(identity.tenant, start.stream_id)
        await self._admit(key, start, choice)
        await self._bus.logs.create(key, ttl=TTL, notes=notes)
        return choice

    async def clear(self, identity: Identity, start: StreamStart) -> bool:
        """Erase what is left of a stream that its client begins anew; False if it may not be."""
        where = start.continues
        key = StreamKey(identity.tenant, start.stream_id)
        try:
            known = stream_note(await self._bus.logs.notes(key))
        except SessionExpired:  # deleted: nothing is left, and the id is not free
            return False
        if where is None or known is None or not known[0].admits(where.token):
            return False
        if epoch_of(known[0].start) >= where.epoch:
            return False
        if (here := self._relays.get(key)) is not None:
            self._taken(here)
        await self._bus.jobs.withdraw(key)
        await self._bus.logs.delete(key, tombstone=False)
        return True

    async def _admit(self, key: StreamKey, start: StreamStart, choice: Choice) -> None:
        """Refuse a new stream that could not be served; one that is here goes on."""
        if self._admission is None:
            return
        if not await self._bus.logs.exists(key):
            await self._admission.admit(start, choice.engine)

    def relay(self, identity: Identity, stream: ServerStream, *, listener: Listener) -> Relay:
        """Relay an accepted stream between its connection and its logs."""
        key = StreamKey(identity.tenant, stream.start.stream_id)
        relay = self._make_relay(key, stream)
        relay.follow()
        self._enter(relay)
        self.adopt(relay, listener)
        return relay

    def keep(self, identity: Identity, start: StreamStart, choice: Choice) -> Relay:
        """Keep a prepared stream whose client was cut off before it could be accepted."""
        relay = self._make_relay(
            StreamKey(identity.tenant, start.stream_id), suspended(start, choice)
        )
        relay.follow()
        self._enter(relay)
        self.park(relay)
        return relay

    async def submit(self, relay: Relay) -> None:
        """Have a worker take the stream, unless it was dropped.

        Raises:
            LegatoError: If the bus does not take the job.
        """
        await self._queueing.submit(relay)

    async def abandon(self, identity: Identity, stream_id: str) -> None:
        """Erase a stream that was prepared but never begun."""
        await self._bus.logs.delete(StreamKey(identity.tenant, stream_id))

    # between connections

    async def find(self, identity: Identity, resume: Resume, *, token: str) -> Relay:
        """Return the stream that a client may go on with, whichever gateway had it.

        Args:
            identity: Whose it is.
            resume: What the client asks for.
            token: What resumes the stream from now on, beside the one that was shown.

        Raises:
            SessionExpired: If there is none.
            ResumeGap: If the logs do not hold what the client lacks.
            Draining: If the gateway is going away.
            BusUnavailable: If the bus does not answer.
        """
        if self.draining:
            raise Draining
        key = StreamKey(identity.tenant, resume.stream_id)
        here = self._relays.get(key)

        def admits(note: StreamNote, notes: Mapping[str, Record]) -> bool:
            del notes
            # Here it is known when a token has been replaced for good.
            known = here is None or here.stream.admits(resume.token)
            if not known or note.start.framing == "raw" or not note.admits(resume.token):
                return False
            if epoch_of(note.start) != resume.epoch:
                raise EpochChanged(f"stream {resume.stream_id!r} is of another epoch here")
            return True

        relay = await self._take(key, admits, (resume.token, token), resume.received_seq)
        if relay is None:
            raise SessionExpired(f"no stream {resume.stream_id!r} can be resumed with this token")
        return relay

    async def find_unknown(
        self, identity: Identity, start: StreamStart, *, token: str
    ) -> Relay | None:
        """Return the stream of a client that was cut off before it learnt of it.

        Such a client holds no token, and starts the stream again.
        """
        key = StreamKey(identity.tenant, start.stream_id)
        here = self._relays.get(key)
        if self.draining or (here and (here.listener or here.stream.acquainted)):
            return None

        def is_unknown(note: StreamNote, notes: Mapping[str, Record]) -> bool:
            same = msgspec.structs.replace(note.start, stream=start.stream) == start
            return same and KNOWN not in notes and note.start.framing != "raw"

        try:
            return await self._take(key, is_unknown, (token,), NO_SEQ)
        except SessionExpired:
            return None

    async def _take(
        self, key: StreamKey, admits: Admits, tokens: tuple[str, ...], received_seq: int
    ) -> Relay | None:
        taken = await self._custody.take(key, admits, tokens=tokens)
        if taken is None:
            return None
        note, before = taken
        here = self._relays.get(key)
        if here is not None and before == self._custody.name:
            return here
        if here is not None:
            self._let_go(here)
        stream = suspended(note.start, Choice(note.engine, note.voice))
        relay = self._make_relay(key, stream, attachment=note.attachment)
        try:
            await relay.revive(received_seq)
        except BaseException as error:
            relay.close()
            if isinstance(error, ResumeGap):  # nobody can go on with it
                self.spawn(self._erase(key))
            raise
        if (other := self._relays.get(key)) is not None:  # asked for twice at once
            self._taken(other)
        self._enter(relay)
        self._queueing.taken(relay)
        self.park(relay)
        return relay

    def acquaint(self, relay: Relay) -> None:
        """The client knows of the stream: without a token nobody may have it from now on."""
        if self._bus.is_shared:
            self.spawn(self._acquaint(relay.key))

    def park(self, relay: Relay) -> None:
        """The stream's connection is lost: keep it for the resume window."""
        if self._relays.get(relay.key) is not relay:
            return
        self._leave(relay)
        self._forget_expiry(relay)
        if relay.stream.raw or (self.draining and not self._bus.is_shared):
            self.drop(relay)
        elif self.draining:
            self._leave_behind(relay)
        else:
            loop = asyncio.get_running_loop()
            expiry = loop.call_later(self._resume_window, self._expire, relay)
            self._expiries[relay.key] = expiry
            self._queueing.left(relay)

    def adopt(self, relay: Relay, listener: Listener) -> None:
        """A connection takes a stream over."""
        self._forget_expiry(relay)
        if relay.listener is None:
            self._note_served(1)
        relay.listener = listener
        self._queueing.back(relay)

    def forget(self, relay: Relay) -> None:
        """A stream is gone from the bus: nothing of it is to be erased, and another may begin."""
        self._let_go(relay)

    def drop(self, relay: Relay) -> None:
        """End a stream and erase its data."""
        if self._let_go(relay):
            self.spawn(self._erase(relay.key))

    async def keep_alive(self) -> None:
        """Keep the logs of all streams, for ever."""
        await self._upkeep.keep_alive()

    async def close(self) -> None:
        """Erase all streams, or leave them to other gateways if there may be any; wait for it."""
        for relay in list(self._relays.values()):
            if self._bus.is_shared and not relay.stream.raw:
                self._leave_behind(relay)
            else:
                self.drop(relay)
        await self._upkeep.close()

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run work that must come to its end even if the connection that asked for it does not."""
        self._upkeep.spawn(work)

    # details

    def _make_relay(self, key: StreamKey, stream: ServerStream, attachment: int = 0) -> Relay:
        return Relay(
            self._bus,
            key,
            stream,
            attachment=attachment,
            moved=self._upkeep.note_moved,
            owing=self._reminders.note,
            taken=self._taken,
        )

    def _enter(self, relay: Relay) -> None:
        self._relays[relay.key] = relay
        STREAMS_ACTIVE.labels(task=relay.stream.start.task).inc()

    def _taken(self, relay: Relay) -> None:
        """Another gateway has the stream now."""
        if relay.listener is not None:
            relay.listener.replaced(relay)
        self._let_go(relay)

    def _let_go(self, relay: Relay) -> bool:
        if self._relays.get(relay.key) is not relay:
            return False
        del self._relays[relay.key]
        self._forget_expiry(relay)
        self._upkeep.forget(relay)
        self._queueing.forget(relay)
        self._leave(relay)
        relay.close()
        relay.count_audio()
        STREAMS_ACTIVE.labels(task=relay.stream.start.task).dec()
        return True

    def _leave_behind(self, relay: Relay) -> None:
        """Leave a stream to whichever gateway its client comes to."""
        if self._let_go(relay):
            self.spawn(self._upkeep.touch(relay.key, self._resume_window + LEEWAY))

    def _expire(self, relay: Relay) -> None:
        """The resume window is over."""
        if self._bus.is_shared:
            self.spawn(self._drop_own(relay))
        else:
            self.drop(relay)

    async def _drop_own(self, relay: Relay) -> None:
        try:
            own = await self._custody.has(relay.key)
        except BusUnavailable:  # the bus forgets it by itself when nobody touches it
            own = False
        if relay.listener is None and own:
            self.drop(relay)
        elif relay.listener is None:
            self._let_go(relay)

    async def _acquaint(self, key: StreamKey) -> None:
        with suppress(SessionExpired):  # it may have ended already
            await self._bus.logs.note(key, KNOWN, b"")

    async def _erase(self, key: StreamKey) -> None:
        await self._bus.jobs.withdraw(key)
        await self._bus.logs.delete(key)

    def _forget_expiry(self, relay: Relay) -> None:
        expiry = self._expiries.pop(relay.key, None)
        if expiry is not None:
            expiry.cancel()

    def _leave(self, relay: Relay) -> None:
        if relay.listener is not None:
            relay.listener = None
            self._note_served(-1)

    def _note_served(self, change: int) -> None:
        self._served += change
        if self._served:
            self._idle.clear()
        else:
            self._idle.set()


def suspended(start: StreamStart, choice: Choice) -> ServerStream:
    """Return a stream that waits for its client."""
    stream = ServerStream(start, check_start(start))
    stream.engine, stream.voice = choice.engine, choice.voice
    stream.signal(StreamSignal.STARTED)
    stream.signal(StreamSignal.LOSE)
    return stream


def epoch_of(start: StreamStart) -> int:
    """Return the incarnation of the history that begins with `start`."""
    return 0 if start.continues is None else start.continues.epoch
