"""A gateway in this process, and clients that speak the wire without our client library."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import Identify, anyone
from legato.gateway.server import Server
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.unit.gateway.transport import TEXT, frame, handshake

DEADLINE: Final = 10.0
FRAME: Final = bytes(range(256)) * 2 + bytes(128)
"""20 ms of 16 kHz mono that is not silence."""

ENGINES: Final = (
    EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=64),
    EngineSpec(kind=EngineKind.RECOGNIZE, name="tone", slots=64),
)
_NAMES = itertools.count()


def fresh_id() -> str:
    """Return a stream_id that no test has used."""
    return f"stream-{next(_NAMES)}"


class Site:
    """A server, its bus and its worker.

    Engines run in the loop here, so that what a test waits for is the gateway.
    """

    def __init__(self, config: GatewayConfig, identify: Identify) -> None:
        self.bus = MemoryBus()
        self.server = Server(self.bus, config, identify=identify)
        self.worker = Worker(
            self.bus,
            WorkerConfig(engines=ENGINES, synthesizers=("tone",), recognizers=("tone",)),
        )

    @property
    def address(self) -> str:
        """Where streams are."""
        return f"{self.server.url}/v1/stream"

    @asynccontextmanager
    async def peer(self, *, hello: bool = True, **more: Any) -> AsyncIterator[Peer]:
        """Connect."""
        more.setdefault("subprotocols", ["legato.v1"])
        async with connect(
            self.address, compression=None, ping_interval=None, close_timeout=1.0, **more
        ) as wire:
            peer = Peer(wire)
            try:
                if hello:
                    peer.welcome = await peer.greet()
                yield peer
            finally:
                await peer.stop()

    def is_empty(self) -> bool:
        """Whether no connection, stream, job or log is left."""
        counts = self.bus.counts()
        left = counts["streams"] + counts["jobs"] + self.worker.active_jobs
        return not (left or self.server.open_streams or self.server.open_connections)


@asynccontextmanager
async def serving(
    *, identify: Identify = anyone, work: bool = True, **settings: Any
) -> AsyncIterator[Site]:
    """Run a gateway with its worker."""
    site = Site(GatewayConfig(port=0, **settings), identify)
    await site.server.start()
    try:
        if work:
            await site.worker.start()
            await site.worker.wait_ready()
        yield site
    finally:
        await site.server.stop(drain=False)
        if work:
            await site.worker.stop()
        await site.bus.close()


class Peer:
    """A client's end of a WebSocket, by hand."""

    def __init__(self, wire: ClientConnection) -> None:
        self.wire = wire
        self.welcome: dict[str, Any] = {}
        self.stream_id = ""
        self.seq = 0
        self._echo: asyncio.Task[None] | None = None
        self._echo_over = False

    async def greet(self) -> dict[str, Any]:
        """Say hello."""
        await self.say("hello", version=1)
        return await self.hear("welcome")

    async def say(self, kind: str, **fields: Any) -> None:
        """Send a control message."""
        await self.wire.send(json.dumps({"type": kind, **fields}))

    async def next(self) -> dict[str, Any] | AudioFrame:
        """Return what comes next."""
        async with asyncio.timeout(DEADLINE):
            message = await self.wire.recv()
        if isinstance(message, bytes):
            return decode_frame(message)
        return dict(json.loads(message))

    async def hear(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind; what comes before it is dropped."""
        while True:
            message = await self.next()
            if isinstance(message, dict) and message["type"] == kind:
                return message

    async def error(self, code: str) -> dict[str, Any]:
        """Return the next error, which must have this code and say something."""
        message = await self.hear("error")
        assert message["code"] == code, message
        assert len(message["message"]) > 10
        return message

    async def start(self, task: str, *, stream: int = 1, **fields: Any) -> dict[str, Any]:
        """Start a stream."""
        fields.setdefault("stream_id", fresh_id())
        await self.say("stream_start", stream=stream, task=task, **fields)
        return await self.hear("stream_started")

    async def send(self, *payloads: bytes, stream: int = 1, seq: int | None = None) -> None:
        """Send audio, numbered on from the last one."""
        if seq is not None:
            self.seq = seq
        for payload in payloads:
            await self.wire.send(encode_frame(AudioFrame(payload, self.seq), stream, 0))
            self.seq += 1

    async def entry(self, kind: str, *, stream: int = 1, **fields: Any) -> None:
        """Send a numbered control message."""
        await self.say(kind, stream=stream, seq=self.seq, **fields)
        self.seq += 1

    async def frames(self, count: int) -> list[AudioFrame]:
        """Return the next frames of audio."""
        found: list[AudioFrame] = []
        while len(found) < count:
            message = await self.next()
            if isinstance(message, AudioFrame):
                found.append(message)
        return found

    async def closed(self) -> tuple[int, str]:
        """Read until the gateway closes; return code and reason."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.next()
        close = self.wire.protocol.close_rcvd
        return (1006, "") if close is None else (close.code, close.reason)

    # a stream that goes on while the test does its worst

    def begin_echo(self) -> None:
        """Send a frame each 20 ms and expect each one back, in order and soon."""
        self._echo = asyncio.create_task(self._run_echo())

    async def end_echo(self) -> None:
        """Stop; raises if a frame was lost, changed or late."""
        assert self._echo is not None
        self._echo_over = True
        await self._echo
        self._echo = None
        await self.send(FRAME)
        assert [frame.seq for frame in await self.frames(1)] == [self.seq - 1]

    async def stop(self) -> None:
        """End what was begun."""
        if self._echo is not None:
            self._echo.cancel()
            await asyncio.gather(self._echo, return_exceptions=True)

    async def _run_echo(self) -> None:
        while not self._echo_over:
            await self.send(FRAME)
            async with asyncio.timeout(2.0):
                (frame,) = await self.frames(1)
            assert (frame.seq, frame.payload) == (self.seq - 1, FRAME)
            await self.say("ack", stream=1, received_seq=frame.seq)
            await asyncio.sleep(0.02)


class Plain:
    """A TCP connection, for what no library would send."""

    def __init__(self, port: int, *, receive_bytes: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.setblocking(False)
        self._port = port

    async def __aenter__(self) -> Plain:
        await asyncio.get_running_loop().sock_connect(self.socket, ("127.0.0.1", self._port))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.socket.close()

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        async with asyncio.timeout(DEADLINE):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def open(self, *headers: str) -> None:
        """Open a WebSocket and say hello."""
        await self.send(handshake(*headers))
        await self.read_until(b"\r\n\r\n")
        await self.send(frame(b'{"type":"hello","version":1}', TEXT))
        await self.read_until(b"welcome")

    async def read(self, size: int = 65_536) -> bytes:
        """Return what is there; empty at the end."""
        async with asyncio.timeout(DEADLINE):
            return await asyncio.get_running_loop().sock_recv(self.socket, size)

    async def read_until(self, mark: bytes) -> bytes:
        """Return all up to and with `mark`, and what came with it."""
        data = b""
        while mark not in data:
            more = await self.read()
            assert more, data
            data += more
        return data

    async def read_all(self) -> bytes:
        """Return all up to the end; a reset is an end too."""
        data = b""
        with contextlib.suppress(ConnectionError):
            while more := await self.read():
                data += more
        return data


async def eventually(condition: Callable[[], bool], within: float = DEADLINE) -> None:
    """Wait until `condition` holds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110  what is waited for tells nobody
            await asyncio.sleep(0.01)
