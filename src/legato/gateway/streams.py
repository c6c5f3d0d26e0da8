"""The gateway's stream service: opens, parks, resumes and deletes streams for any surface."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Final

import msgspec

from legato.bus.base import Bus, Job, StreamKey
from legato.errors import Draining, LegatoError, SessionExpired
from legato.gateway.catalog import Catalog, Choice
from legato.gateway.identity import Identity
from legato.gateway.relay import Listener, Relay
from legato.protocol.messages import Resume, StreamStart
from legato.session.server_stream import ServerStream
from legato.telemetry.logs import logger
from legato.telemetry.metrics import STREAMS_ACTIVE

log = logger(__name__)

TTL: Final = 600.0
"""Seconds without a touch until the bus forgets a stream (R20)."""

TOUCH_EVERY: Final = 60.0

TRIM_EVERY: Final = 0.25
"""Seconds between two trims: one task for all streams, and not one for each ack."""

CLOSE_TIMEOUT: Final = 5.0
"""Seconds for the bus to erase what is left when the gateway ends."""


class Streams:
    """All streams of this gateway.

    Args:
        bus: Where their logs are.
        resume_window: Seconds that a stream outlives its connection.
        catalog: What the workers offer.

    Attributes:
        draining: Whether no more streams are opened.
    """

    def __init__(self, bus: Bus, *, resume_window: float, catalog: Catalog) -> None:
        self.draining = False
        self._bus = bus
        self._resume_window = resume_window
        self._catalog = catalog
        self._relays: dict[StreamKey, Relay] = {}
        self._expiries: dict[StreamKey, asyncio.TimerHandle] = {}
        self._moved: set[Relay] = set()
        self._trim_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._served = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """Streams, those included that wait for their client."""
        return len(self._relays)

    async def until_idle(self) -> None:
        """Wait until no connection has a stream; those without one are not waited for."""
        await self._idle.wait()

    # opening

    async def prepare(self, identity: Identity, start: StreamStart) -> Choice:
        """Choose who does a stream and make its logs.

        Raises:
            RequestError: If it cannot be done as asked, or the id is taken.
            EngineUnavailable: If nobody can do it now.
            Overloaded: If there is no room for it.
            Draining: If the gateway is going away.
        """
        if self.draining:
            raise Draining
        choice = await self._catalog.choose(start)
        await self._bus.logs.create(StreamKey(identity.tenant, start.stream_id), ttl=TTL)
        return choice

    def relay(self, identity: Identity, stream: ServerStream, *, listener: Listener) -> Relay:
        """Relay an accepted stream between its connection and its logs."""
        key = StreamKey(identity.tenant, stream.start.stream_id)
        relay = Relay(self._bus, key, stream, listener=listener, moved=self._note_moved)
        self._relays[key] = relay
        self._note_served(1)
        STREAMS_ACTIVE.labels(task=stream.start.task).inc()
        return relay

    async def submit(self, relay: Relay, choice: Choice) -> None:
        """Have a worker take the stream, unless it was dropped.

        Raises:
            LegatoError: If the bus does not take the job.
        """
        start = relay.stream.start
        await self._bus.jobs.submit(
            Job(key=relay.key, engine=choice.engine, start=start, seed=seed_of(start))
        )
        if relay.key not in self._relays:  # dropped while the job was on its way
            await self._bus.jobs.withdraw(relay.key)

    async def abandon(self, identity: Identity, stream_id: str) -> None:
        """Erase a stream that was prepared but never begun."""
        await self._bus.logs.delete(StreamKey(identity.tenant, stream_id))

    # between connections

    def find(self, identity: Identity, resume: Resume) -> Relay:
        """Return the stream that a client may go on with.

        Raises:
            SessionExpired: If there is none.
            Draining: If the gateway is going away.
        """
        if self.draining:
            raise Draining
        relay = self._relays.get(StreamKey(identity.tenant, resume.stream_id))
        if relay is None or relay.stream.raw or not relay.stream.admits(resume.token):
            raise SessionExpired(f"no stream {resume.stream_id!r} can be resumed with this token")
        return relay

    def find_unknown(self, identity: Identity, start: StreamStart) -> Relay | None:
        """Return the parked stream of a client that was cut off before it learnt of it.

        Such a client holds no token, and starts the stream again.
        """
        relay = self._relays.get(StreamKey(identity.tenant, start.stream_id))
        if self.draining or relay is None or relay.listener or relay.stream.acquainted:
            return None
        known = msgspec.structs.replace(relay.stream.start, stream=start.stream)
        return relay if known == start else None

    def park(self, relay: Relay) -> None:
        """The stream's connection is lost: keep it for the resume window."""
        self._leave(relay)
        if relay.stream.raw or self.draining:
            self.drop(relay)
            return
        loop = asyncio.get_running_loop()
        self._expiries[relay.key] = loop.call_later(self._resume_window, self.drop, relay)

    def adopt(self, relay: Relay, listener: Listener) -> None:
        """A connection takes a stream over."""
        self._forget_expiry(relay)
        if relay.listener is None:
            self._note_served(1)
        relay.listener = listener

    def drop(self, relay: Relay) -> None:
        """End a stream and erase its data."""
        if self._relays.get(relay.key) is not relay:
            return
        del self._relays[relay.key]
        self._forget_expiry(relay)
        self._moved.discard(relay)
        self._leave(relay)
        relay.close()
        relay.count_audio()
        STREAMS_ACTIVE.labels(task=relay.stream.start.task).dec()
        self.spawn(self._erase(relay.key))

    # upkeep

    async def keep_alive(self) -> None:
        """Touch the logs of all streams, for ever; a stream that is served does not expire."""
        while True:
            await asyncio.sleep(TOUCH_EVERY)
            for key in list(self._relays):
                await self._guard(self._touch(key))

    async def close(self) -> None:
        """Erase all streams and wait for it."""
        for relay in list(self._relays.values()):
            self.drop(relay)
        if self._trim_timer is not None:
            self._trim_timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT)

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run work that must come to its end even if the connection that asked for it does not."""
        task = asyncio.get_running_loop().create_task(self._guard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _note_moved(self, relay: Relay) -> None:
        self._moved.add(relay)
        if self._trim_timer is None:
            loop = asyncio.get_running_loop()
            self._trim_timer = loop.call_later(TRIM_EVERY, self._begin_trim)

    def _begin_trim(self) -> None:
        self._trim_timer = None
        moved, self._moved = self._moved, set()
        self.spawn(self._trim(moved))

    async def _trim(self, relays: set[Relay]) -> None:
        for relay in relays:
            relay.count_audio()
            for direction, upto in relay.take_trims().items():
                await self._bus.logs.trim(relay.key, direction, upto=upto)

    async def _touch(self, key: StreamKey) -> None:
        await self._bus.logs.touch(key, ttl=TTL)

    async def _erase(self, key: StreamKey) -> None:
        await self._bus.jobs.withdraw(key)
        await self._bus.logs.delete(key)

    async def _guard(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except LegatoError as error:
            log.warning("upkeep of streams failed", code=error.code)
        except Exception:  # top of a task
            log.exception("upkeep of streams failed")

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


def seed_of(start: StreamStart) -> int:
    """Return the seed asked for in `options`; by itself the same text sounds the same."""
    seed = start.options.get("seed", 0)
    return seed if isinstance(seed, int) and 0 <= seed < 1 << 32 else 0
