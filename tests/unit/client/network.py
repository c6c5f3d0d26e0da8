"""A server without a network: sockets that a test breaks, silences and refuses, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosedError
from websockets.protocol import State

from legato.client.config import ClientConfig
from legato.errors import ConnectionLost, LegatoError
from legato.protocol.codec import decode_client, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import (
    ClientMessage,
    Error,
    Hello,
    Limits,
    Message,
    Ping,
    Pong,
    Resume,
    Resumed,
    Stop,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Welcome,
)
from legato.session.lane import Item


class FakeSocket:
    """The client's end of a WebSocket.

    Args:
        server: What is behind it.

    Attributes:
        silent: Whether nothing passes any more, in either direction, though it looks open.
        heard: What the client said, in order.
        transport: Itself.
    """

    def __init__(self, server: "FakeServer") -> None:
        self._server = server
        self._inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self.silent = False
        self.heard: list[Message] = []
        self.state = State.OPEN
        self.close_code: int | None = None
        self.close_reason: str | None = None
        self.transport = self

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        while (message := await self._inbox.get()) is not None:
            yield message

    async def send(self, message: str | bytes) -> None:
        if self.state is not State.OPEN:
            raise ConnectionClosedError(None, None)
        if not self.silent:
            self._server.receive(self, message)

    async def ping(self) -> asyncio.Future[float]:
        return asyncio.get_running_loop().create_future()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.cut(code, reason)

    def abort(self) -> None:
        self.cut()

    def get_write_buffer_size(self) -> int:
        return 0

    def cut(self, code: int = 1006, reason: str = "") -> None:
        """Close it, from whichever side."""
        if self.state is State.OPEN:
            self.state, self.close_code, self.close_reason = State.CLOSED, code, reason
            self._inbox.put_nowait(None)

    def say(self, message: Message | bytes) -> None:
        """Have a message reach the client."""
        if not self.silent:
            self._inbox.put_nowait(message if isinstance(message, bytes) else encode(message))


@dataclass
class Told:
    """A stream as the server has it.

    Attributes:
        start: Its parameters.
        up: Payloads that came, in order.
        down: What was said, in order; sent again from wherever the client is.
    """

    start: StreamStart
    up: list[bytes] = field(default_factory=list)
    received: int = 0
    down: list[Item] = field(default_factory=list)


@dataclass
class FakeServer:
    """Echoes streams, and lets them go on over another socket.

    Attributes:
        window: Seconds that streams outlive their socket, as welcome says.
        answers: What the next attempts to connect meet: a fault, or None for success; after these
            `down` decides.
        down: Whether nobody can connect.
        hangs: Whether an attempt to connect is never answered.
        refusals: What the next resumes are answered with.
        deleted: Streams that cannot begin anew.
        greets: Whether hello is answered.
        sockets: All that were made.
        attempts: When they were asked for.
        streams: By id.
        stopped: Numbers of streams that the client stopped.
    """

    window: float = 30.0
    answers: list[LegatoError | None] = field(default_factory=list)
    down: bool = False
    hangs: bool = False
    refusals: list[Message] = field(default_factory=list)
    deleted: frozenset[str] = frozenset()
    greets: bool = True
    sockets: list[FakeSocket] = field(default_factory=list)
    attempts: list[float] = field(default_factory=list)
    streams: dict[str, Told] = field(default_factory=dict)
    stopped: list[int] = field(default_factory=list)

    async def dial(self, _config: ClientConfig) -> FakeSocket:
        self.attempts.append(asyncio.get_running_loop().time())
        if self.hangs:
            await asyncio.sleep(3600.0)
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        if self.down:
            raise ConnectionLost("nobody is there")
        self.sockets.append(FakeSocket(self))
        return self.sockets[-1]

    def receive(self, socket: FakeSocket, data: str | bytes) -> None:
        if isinstance(data, bytes):
            self._take_frame(socket, decode_frame(data))
        else:
            message = decode_client(data)
            socket.heard.append(message)
            self._take_message(socket, message)

    def _take_message(self, socket: FakeSocket, message: ClientMessage) -> None:
        match message:
            case Hello() if self.greets:
                socket.say(
                    Welcome(
                        version=1,
                        session_id="s",
                        resume_token=f"t{len(self.sockets)}",
                        limits=Limits(resume_window=self.window),
                    )
                )
            case Ping():
                socket.say(Pong(id=message.id, time=message.time))
            case StreamStart():
                self._start(socket, message)
            case Resume():
                self._resume(socket, message)
            case StreamEnd():
                told = self._told(message.stream)
                told.received += 1
                self._answer(socket, told, StreamEnd(stream=message.stream, seq=len(told.down)))
            case Stop():
                self.stopped.append(message.stream)

    def _start(self, socket: FakeSocket, start: StreamStart) -> None:
        if start.stream_id in self.deleted:
            socket.say(Error(code="stream_exists", stream=start.stream))
            return
        self.streams[start.stream_id] = Told(start)
        socket.say(
            StreamStarted(
                epoch=start.continues.epoch if start.continues is not None else 0,
                stream=start.stream,
                stream_id=start.stream_id,
                task=start.task,
                sample_rate=start.sample_rate,
                credit_samples=10**9,
                credit_chars=10**9,
            )
        )

    def _resume(self, socket: FakeSocket, resume: Resume) -> None:
        if self.refusals:
            socket.say(self.refusals.pop(0))
            return
        told = self.streams[resume.stream_id]
        socket.say(Resumed(stream=resume.stream, recovered=True, received_seq=told.received - 1))
        for item in told.down[resume.received_seq + 1 :]:
            self._say(socket, resume.stream, item)

    def _take_frame(self, socket: FakeSocket, frame: AudioFrame) -> None:
        told = self._told(frame.stream)
        if frame.seq == told.received:
            told.received += 1
            told.up.append(frame.payload)
            first = told.start.continues.sample if told.start.continues is not None else 0
            sample = first + sum(len(payload) // 2 for payload in told.up[:-1])
            self._answer(socket, told, AudioFrame(frame.payload, len(told.down), sample=sample))

    def _answer(self, socket: FakeSocket, told: Told, item: Item) -> None:
        told.down.append(item)
        self._say(socket, told.start.stream, item)

    def _say(self, socket: FakeSocket, number: int, item: Item) -> None:
        socket.say(encode_frame(item, number, 0) if isinstance(item, AudioFrame) else item)

    def _told(self, number: int) -> Told:
        return next(told for told in self.streams.values() if told.start.stream == number)
