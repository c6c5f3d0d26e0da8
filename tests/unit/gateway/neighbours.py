"""Several gateways on one bus, and buses that are slow, deaf or broken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from legato.bus.base import (
    Closed,
    Deliver,
    Direction,
    Entry,
    Failed,
    Logs,
    LogWriter,
    Record,
    Stored,
    StreamKey,
    Subscription,
)
from legato.bus.memory import MemoryBus
from legato.errors import BusUnavailable
from legato.flow.digest import Chain
from legato.gateway.catalog import Catalog
from legato.gateway.streams import Streams
from legato.protocol.codec import decode_server
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import Ack, NumberedMessage, Resume, StreamEnd, UtteranceEnd
from tests.unit.gateway.stage import Gateway, Job, Line, echo

KEY = StreamKey("default", "s")


class SharedMemoryBus(MemoryBus):
    """Says that other processes see it, as several gateways of one test do."""

    is_shared = True  # type: ignore[misc]  # of the real one it is never true


class FakeLogs:
    """The logs of a bus, as one gateway sees them.

    Attributes:
        deaf: Whether its writers are not told when they are replaced.
        store_delay: Seconds until a writer is told what is stored.
        delay: Seconds that it takes to read or write notes.
        broken: Whether notes can be neither read nor written.
        contested: Whether somebody else always writes a note first.
    """

    def __init__(self, logs: Logs) -> None:
        self.deaf = False
        self.store_delay = 0.0
        self.delay = 0.0
        self.broken = False
        self.contested = False
        self._logs = logs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logs, name)

    def writer(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        fence: int = 0,
        stored: Stored | None = None,
        failed: Failed | None = None,
    ) -> LogWriter:
        def stored_later(number: int) -> None:
            assert stored is not None
            asyncio.get_running_loop().call_later(self.store_delay, stored, number)

        return self._logs.writer(
            key,
            direction,
            fence=fence,
            stored=stored_later if stored and self.store_delay else stored,
            failed=None if self.deaf else failed,
        )

    def follow(
        self,
        key: StreamKey,
        direction: Direction,
        deliver: Deliver,
        *,
        after: int = 0,
        closed: Closed | None = None,
    ) -> Subscription:
        return self._logs.follow(key, direction, deliver, after=after, closed=closed)

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        return await self._logs.read(key, direction, after=after, limit=limit)

    async def notes(self, key: StreamKey) -> Mapping[str, Record]:
        self._check()
        await asyncio.sleep(self.delay)  # others get their turn, as on a network
        return await self._logs.notes(key)

    async def note(
        self, key: StreamKey, name: str, value: bytes, *, expected: int | None = None
    ) -> bool:
        self._check()
        await asyncio.sleep(self.delay)
        return not self.contested and await self._logs.note(key, name, value, expected=expected)

    def _check(self) -> None:
        if self.broken:
            raise BusUnavailable("the bus does not answer")


class View:
    """A bus as one gateway sees it."""

    def __init__(self, bus: MemoryBus) -> None:
        self.fake = FakeLogs(bus.logs)
        self.logs = cast("Logs", self.fake)
        self.jobs = bus.jobs
        self.registry = bus.registry
        self.blobs = bus.blobs
        self.is_shared = bus.is_shared

    async def close(self) -> None:
        """Nothing of its own."""


@dataclass
class Neighbour(Gateway):
    """One of several gateways.

    Attributes:
        shared: The bus of all.
        number: Of this one, so that its tokens are nobody else's.
    """

    shared: SharedMemoryBus = field(kw_only=True)
    number: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bus = self.shared
        self.view = View(self.shared)
        clock = asyncio.get_running_loop().time
        self.streams = Streams(
            self.view, resume_window=self.resume_window, catalog=Catalog(self.bus.registry, clock)
        )
        self.count = 100 * self.number


async def neighbours(count: int = 2, *, resume_window: float = 30.0) -> list[Neighbour]:
    """Gateways with one bus and one offer of engines."""
    bus = SharedMemoryBus(clock=asyncio.get_running_loop().time)
    gateways = [
        Neighbour(shared=bus, number=number, resume_window=resume_window, idle_timeout=10_000.0)
        for number in range(count)
    ]
    await gateways[0].open()
    return gateways


class Ear:
    """What a client counts of down, over all its connections.

    Attributes:
        seq: Last entry that it holds.
        end: The end, once it has come.
    """

    def __init__(self) -> None:
        self.seq = -1
        self.frames = 0
        self.end: StreamEnd | None = None
        self._chain = Chain()

    def listen(self, line: Line, *, lost: int = 0) -> None:
        """Take what was sent; the last messages may be lost with the connection."""
        sent, line.socket.sent = line.socket.sent, []
        for data in sent[: len(sent) - lost]:
            item = decode_frame(data) if isinstance(data, bytes) else decode_server(data)
            if isinstance(item, AudioFrame | NumberedMessage) and (item.seq or 0) > self.seq:
                self._take(item)

    def is_intact(self) -> bool:
        """Whether the end tells what came."""
        end = self.end
        assert end is not None
        return (end.digest, end.frames) == (self._chain.hexdigest(), self.frames)

    def _take(self, item: AudioFrame | NumberedMessage) -> None:
        seq = item.seq
        assert seq is not None
        if isinstance(item, UtteranceEnd) and item.sent_seq == self.seq:
            self.seq = seq - 1  # the hole of a cancel
        assert seq == self.seq + 1, f"{seq} after {self.seq}"
        self.seq = seq
        if isinstance(item, AudioFrame):
            self.frames += 1
            self._chain.update(item.payload)
        elif isinstance(item, StreamEnd):
            self.end = item


def resume(token: str, *, number: int = 7, received: int = -1) -> Resume:
    return Resume(stream=number, stream_id="s", token=token, received_seq=received)


async def acquainted(gateway: Neighbour) -> Line:
    """A connection whose client has acknowledged its stream."""
    line = await gateway.hello()
    await line.start(echo())
    line.say(Ack(stream=1))
    return line


async def resumed(gateway: Neighbour, token: str, *, received: int = -1) -> Line:
    """A new connection, on which the stream goes on."""
    line = await gateway.hello()
    line.say(resume(token, received=received))
    assert (await line.hear("resumed"))["recovered"] is True
    return line


def seqs(job: Job) -> list[int | None]:
    """Numbers of what came to the worker."""
    return [item.seq for item in job.up if isinstance(item, AudioFrame | NumberedMessage)]


async def exists(gateway: Neighbour) -> bool:
    return await gateway.bus.logs.exists(KEY)
