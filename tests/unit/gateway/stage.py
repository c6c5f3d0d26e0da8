"""A gateway without its network: a socket and a worker that do what a test says."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from legato.audio import AudioFormat
from legato.bus.base import Committed, Direction, DownItem, Entry, Item, StreamKey
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.records import (
    ENGINE_KIND,
    TENANT,
    EngineRecord,
    VoiceRecord,
    encode_engine,
    engine_record_name,
)
from legato.gateway.catalog import Catalog
from legato.gateway.connection import Connection
from legato.gateway.identity import Identify, anyone
from legato.gateway.streams import Streams
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import Message, StreamStart
from legato.session.server import ServerSession

FORMAT = AudioFormat(16_000, 1)
FRAME = bytes(640)
TONE = EngineRecord(
    kind="synthesize",
    name="tone",
    languages=("mul",),
    voices=(VoiceRecord(name="tone", engine="tone"),),
    state="ready",
    default=True,
)
EAR = EngineRecord(kind="recognize", name="ear", languages=("en",), state="ready", default=True)


class FakeSocket:
    """A socket that keeps what is sent; `is_writable` is the test's to set."""

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []
        self.writes = 0
        self.closed: tuple[int, str] | None = None
        self.is_writable = True
        self.unsent_bytes = 0
        self.paused = False
        self.closed_by_peer = False

    def write(self, frames: Sequence[str | bytes]) -> None:
        if self.closed is None:
            self.sent += frames
            self.writes += 1

    def close(self, code: int, reason: str = "") -> None:
        if self.closed is None:
            self.closed = (code, reason)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False


async def offer(bus: MemoryBus, *records: EngineRecord) -> None:
    """Announce engines, as a worker does."""
    for record in records:
        name = engine_record_name(record.kind, record.name)
        await bus.registry.put(TENANT, ENGINE_KIND, name, encode_engine(record))


@dataclass
class Gateway:
    """What connections share."""

    resume_window: float = 30.0
    slow_timeout: float = 15.0
    idle_timeout: float = 90.0
    bounds: Bounds = field(default_factory=Bounds)
    identify: Identify = anyone

    def __post_init__(self) -> None:
        clock = asyncio.get_running_loop().time
        self.bus = MemoryBus(clock=clock, bounds=self.bounds)
        self.streams = Streams(
            self.bus,
            resume_window=self.resume_window,
            catalog=Catalog(self.bus.registry, clock),
        )
        self.count = 0

    async def open(self, *records: EngineRecord) -> "Gateway":
        """Announce engines; `tone` and `ear` if none are named."""
        await offer(self.bus, *(records or (TONE, EAR)))
        return self

    def connect(self, headers: Mapping[str, str] | None = None) -> "Line":
        """Accept a connection."""
        self.count += 1
        return Line(self, headers or {}, token=f"token-{self.count}")

    async def hello(self) -> "Line":
        """Accept a connection and greet."""
        line = self.connect()
        line.say('{"type":"hello","version":1}')
        await line.hear("welcome")
        return line

    async def work(self, stream_id: str = "s", tenant: str = "default") -> "Job":
        """Claim a stream's job."""
        claim = await self.bus.jobs.claim(("echo", "tone", "ear"), "w", lease=600.0, wait=1.0)
        assert claim is not None
        assert claim.job.key == StreamKey(tenant, stream_id)
        return Job(self.bus, claim.job.key)


class Job:
    """A worker that does what the test says."""

    def __init__(self, bus: MemoryBus, key: StreamKey) -> None:
        self.key = key
        self.up: list[Item] = []
        self._writer = bus.logs.writer(key, Direction.DOWN, fence=1)
        bus.logs.follow(key, Direction.UP, self._take)

    def _take(self, entries: Sequence[Entry]) -> None:
        self.up += [item for entry in entries for item in entry.items]

    def write(self, *items: DownItem) -> None:
        """Append one entry to the down log."""
        self._writer.append(items)

    def play(self, count: int, *, first: int = 0, mark: bool = False) -> None:
        """Append frames, an entry each."""
        for seq in range(first, first + count):
            items: list[DownItem] = [AudioFrame(FRAME, seq, sample=320 * seq)]
            if mark:
                items.append(Committed(-1))
            self.write(*items)


class Line:
    """A connection on a fake socket, and its client."""

    def __init__(self, gateway: Gateway, headers: Mapping[str, str], *, token: str) -> None:
        self.socket = FakeSocket()
        self.token = token
        self.connection = Connection(
            self.socket,
            ServerSession(
                session_id="session",
                resume_token=token,
                now=asyncio.get_running_loop().time(),
                idle_timeout=gateway.idle_timeout,
            ),
            gateway.streams,
            identify=gateway.identify,
            headers=headers,
            slow_timeout=gateway.slow_timeout,
        )
        self.running = asyncio.ensure_future(self.connection.run())

    def say(self, *messages: Message | str | bytes) -> None:
        """Send messages in one flight."""
        for message in messages:
            self.connection.receive(encode(message) if isinstance(message, Message) else message)
        self.connection.flush()

    def send(self, *payloads: bytes, first: int = 0, stream: int = 1) -> None:
        """Send audio frames in one flight."""
        frames = [AudioFrame(payload, first + i) for i, payload in enumerate(payloads)]
        self.say(*(encode_frame(frame, stream, 0) for frame in frames))

    async def hear(self, kind: str) -> dict[str, Any]:
        """Return the next text message of a kind; what comes before it is dropped."""
        while True:
            while self.socket.sent:
                message = self.socket.sent.pop(0)
                if isinstance(message, str) and (said := json.loads(message))["type"] == kind:
                    return dict(said)
            await asyncio.sleep(0.01)

    def frames(self) -> list[AudioFrame]:
        """Take the audio that was sent so far."""
        audio = [decode_frame(data) for data in self.socket.sent if isinstance(data, bytes)]
        self.socket.sent = [data for data in self.socket.sent if isinstance(data, str)]
        return audio

    async def error(self, code: str) -> dict[str, Any]:
        """Return the next error, which must have this code."""
        said = await self.hear("error")
        assert said["code"] == code, said
        return said

    async def start(self, start: StreamStart) -> dict[str, Any]:
        """Start a stream."""
        self.say(start)
        return await self.hear("stream_started")

    async def ends(self) -> tuple[int, str]:
        """Wait until the gateway closes; return code and reason."""
        await self.running
        assert self.socket.closed is not None
        return self.socket.closed

    async def cut(self) -> None:
        """Lose the connection."""
        self.connection.lost()
        await self.running


def echo(stream_id: str = "s", stream: int = 1, **more: Any) -> StreamStart:
    """A start that needs no engine."""
    return StreamStart(stream=stream, stream_id=stream_id, task="echo", **more)


async def gone(gateway: Gateway) -> bool:
    """Whether nothing is left of any stream, once what was spawned has run."""
    await asyncio.sleep(1.0)
    counts = gateway.bus.counts()
    return not (len(gateway.streams) or counts["streams"] or counts["jobs"])
