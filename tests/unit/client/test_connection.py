"""A connection against a server that follows a script, over a real socket."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK
from websockets.typing import Subprotocol

from legato.client.config import ClientConfig
from legato.client.connection import Connection
from legato.errors import (
    ConnectionLost,
    Draining,
    LegatoError,
    MalformedMessage,
    Overloaded,
    Unauthenticated,
)
from legato.protocol.codec import decode_client, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import Draining as DrainingMessage
from legato.protocol.messages import (
    Error,
    FlowControl,
    Hello,
    Limits,
    Message,
    Notice,
    Pong,
    Stop,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Welcome,
)
from tests.unit.client.fakes import first, settle

WELCOME = Welcome(version=1, session_id="s", resume_token="t", limits=Limits(max_text_chars=100))
START = StreamStart(stream_id="s", task="echo")
PCM = bytes(640)


class Script:
    """What a test does as the server of one connection.

    Args:
        socket: The server's end.
    """

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def hear(self) -> Message | AudioFrame:
        """The next message, pings answered on the way."""
        data = await self.socket.recv()
        return decode_frame(data) if isinstance(data, bytes) else decode_client(data)

    async def say(self, *messages: Message) -> None:
        for message in messages:
            await self.socket.send(encode(message))

    async def until_closed(self) -> None:
        """Take whatever comes, or the close would not be heard."""
        with suppress(ConnectionClosed):
            while True:
                await self.socket.recv()

    async def welcome(self) -> None:
        hello = await self.hear()
        assert isinstance(hello, Hello)
        await self.say(WELCOME)

    async def accept(self, *, credit: int = 1_000_000) -> StreamStart:
        start = await self.hear()
        assert isinstance(start, StreamStart)
        await self.say(
            StreamStarted(
                stream=start.stream,
                stream_id=start.stream_id,
                task=start.task,
                sample_rate=start.sample_rate,
                credit_samples=credit,
                credit_chars=credit,
            )
        )
        return start


Play = Callable[[Script], Awaitable[None]]


@asynccontextmanager
async def server(
    play: Play, *, subprotocol: str | None = "legato.v1"
) -> AsyncIterator[ClientConfig]:
    """Serve connections by `play`; a fault of the script is a fault of the test."""
    faults: list[Exception] = []

    async def handle(socket: ServerConnection) -> None:
        try:
            await play(Script(socket))
        except Exception as error:  # noqa: BLE001  (it is raised again below)
            faults.append(error)

    spoken = None if subprotocol is None else [Subprotocol(subprotocol)]
    async with serve(handle, "127.0.0.1", 0, subprotocols=spoken, ping_interval=None) as running:
        port = running.sockets[0].getsockname()[1]
        yield ClientConfig(url=f"ws://127.0.0.1:{port}", connect_timeout=5.0, reconnect=None)
    if faults:
        raise faults[0]


@asynccontextmanager
async def connected(play: Play) -> AsyncIterator[Connection]:
    async with server(play) as config:
        connection = Connection(config)
        await connection.open()
        try:
            yield connection
        finally:
            await connection.close()


async def test_a_connection_is_usable_between_welcome_and_close() -> None:
    async def play(script: Script) -> None:
        await script.welcome()
        await script.until_closed()

    async with server(play) as config:
        connection = Connection(config)
        states = [connection.usable]
        await connection.open()
        states += [connection.usable, await connection.is_alive()]
        await connection.close()
        states += [connection.usable, await connection.is_alive()]
        assert states == [False, True, True, False, False]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_audio_goes_up_and_comes_back() -> None:
    async def play(script: Script) -> None:
        await script.welcome()
        start = await script.accept()
        frame = await script.hear()
        while not isinstance(frame, AudioFrame):
            frame = await script.hear()
        await script.say(Notice(stream=start.stream, kind="queued", position=2))
        back = AudioFrame(frame.payload, 0)
        await script.socket.send(encode_frame(back, start.stream, 0))
        await script.say(StreamEnd(stream=start.stream, seq=1))
        await script.until_closed()

    async with connected(play) as connection:
        channel = connection.start(START)
        positions: list[int | None] = []
        channel.on_notice = lambda notice: positions.append(notice.position)
        assert connection.load == 1
        await channel.send_audio(PCM)
        item = await channel.receive_item()
        assert isinstance(item, AudioFrame)
        assert item.payload == PCM
        assert isinstance(await channel.receive_item(), StreamEnd)
        assert await channel.receive_item() is None
        assert connection.load == 0
        assert channel.started is not None
        assert positions == [2]


async def test_a_refusal_instead_of_a_welcome_is_raised() -> None:
    async def play(script: Script) -> None:
        await script.hear()
        await script.say(Error(code="unauthenticated", message="show a key"))
        await script.until_closed()

    async with server(play) as config:
        with pytest.raises(Unauthenticated, match="show a key"):
            await Connection(config).open()


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def play(script: Script) -> None:
        await script.until_closed()

    async with server(play) as config:
        with pytest.raises(ConnectionLost, match="does not answer"):
            await Connection(replace(config, connect_timeout=0.05)).open()


async def test_another_kind_of_server_is_told_apart() -> None:
    async def play(script: Script) -> None:
        await script.until_closed()

    async with server(play, subprotocol=None) as config:
        with pytest.raises(ConnectionLost, match="is no Legato server"):
            await Connection(config).open()
    async with server(play, subprotocol="chat") as config:
        with pytest.raises(ConnectionLost, match="answered 400"):
            await Connection(config).open()


async def test_a_silent_connection_is_asked_before_it_is_used() -> None:
    cut = asyncio.Event()

    async def play(script: Script) -> None:
        await script.welcome()
        await cut.wait()
        script.socket.transport.abort()

    async with server(play) as config:
        connection = Connection(config)
        connection.fresh = 0.0
        await connection.open()
        answers = [await connection.is_alive()]
        cut.set()
        answers.append(await connection.is_alive())
        await connection.close()

    assert answers == [True, False]


async def test_a_lost_connection_ends_every_stream() -> None:
    async def play(script: Script) -> None:
        await script.welcome()
        await script.accept()
        script.socket.transport.abort()

    async with connected(play) as connection:
        channels = [connection.start(msgspec.structs.replace(START, stream_id=n)) for n in "ab"]
        for channel in channels:
            with pytest.raises(ConnectionLost, match="was lost"):
                await channel.receive_item()
        assert not connection.usable
        assert connection.load == 0


async def test_a_server_that_goes_away_lets_streams_end_and_takes_no_more() -> None:
    go = asyncio.Event()

    async def play(script: Script) -> None:
        await script.welcome()
        await script.accept()
        await script.say(DrainingMessage(deadline=5.0))
        await go.wait()
        await script.socket.close(1012)

    async with connected(play) as connection:
        channel = connection.start(START)
        waiting = await first(channel.receive_item())
        await settle_real(lambda: not connection.usable)
        assert connection.load == 1
        go.set()
        with pytest.raises(Draining):
            await waiting


async def test_nonsense_from_the_server_ends_the_connection() -> None:
    async def play(script: Script) -> None:
        await script.welcome()
        await script.socket.send("{}")
        await script.until_closed()
        assert script.socket.close_code == 1002

    async with connected(play) as connection:
        with pytest.raises(MalformedMessage):
            await connection.start(START).receive_item()
        with pytest.raises(MalformedMessage):
            connection.start(START)


async def test_a_fault_of_one_stream_is_not_the_others() -> None:
    async def play(script: Script) -> None:
        await script.welcome()
        start = await script.accept()
        await script.say(Error(code="overloaded", stream=start.stream, retry_after=2.0))
        second = await script.accept()
        await script.say(StreamEnd(stream=second.stream, seq=0))
        await script.until_closed()

    async with connected(play) as connection:
        refused, fine = connection.start(START), connection.start(START)
        with pytest.raises(Overloaded) as caught:
            await refused.receive_item()
        assert caught.value.retry_after == 2.0
        assert isinstance(await fine.receive_item(), StreamEnd)


async def test_closing_tells_the_server_to_forget_open_streams() -> None:
    heard: list[Message | AudioFrame] = []

    async def play(script: Script) -> None:
        await script.welcome()
        await script.accept()
        try:
            while True:
                heard.append(await script.hear())
        except ConnectionClosedOK:
            return

    async with connected(play) as connection:
        channel = connection.start(START)
        await connection.close()
        with pytest.raises(ConnectionLost, match="closed"):
            await channel.receive_item()

    assert isinstance(heard[-1], Stop)


async def test_the_pace_that_the_server_asks_for_is_kept() -> None:
    stopped, resumed = asyncio.Event(), asyncio.Event()

    async def play(script: Script) -> None:
        await script.welcome()
        await script.accept()
        await script.say(FlowControl(rate=0.0))
        await script.say(Notice(stream=1, kind="queued"))
        await stopped.wait()
        await script.say(FlowControl(rate=1000.0))
        while not isinstance(await script.hear(), AudioFrame):
            pass
        resumed.set()
        await script.until_closed()

    async with connected(play) as connection:
        channel = connection.start(START)
        told = asyncio.Event()
        channel.on_notice = lambda _notice: told.set()
        await told.wait()
        for _ in range(120):  # 2.4 s: more than may run ahead
            channel.stream.send_audio(PCM)
        connection.wake()
        await settle_real(lambda: channel.stream.out.queued <= 120)
        held = channel.stream.out.queued
        stopped.set()
        await asyncio.wait_for(resumed.wait(), 5)
        await settle_real(lambda: channel.stream.out.queued == 0)

    assert held > 0


async def test_a_server_that_does_not_read_stops_the_producer() -> None:
    done = asyncio.Event()

    async def play(script: Script) -> None:
        await script.welcome()
        await script.accept(credit=10**9)
        script.socket.transport.pause_reading()
        await done.wait()
        script.socket.transport.abort()

    async with connected(play) as connection:
        channel = connection.start(START)
        sent = 0

        async def produce() -> None:
            nonlocal sent
            while True:
                await channel.send_audio(PCM)
                sent += 1

        producer = asyncio.create_task(produce())
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.05)  # the kernel takes some; then it is full
        unsent = connection.unsent_bytes
        done.set()
        with pytest.raises(LegatoError):
            await producer

    assert unsent <= 65_536 + 1_000
    assert channel.stream.out.queued <= 65


async def settle_real(condition: Callable[[], bool]) -> None:
    """Wait for something that a peer behind a socket brings about."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("that never came about")


async def test_what_the_server_asks_is_answered() -> None:
    answered = asyncio.Event()

    async def play(script: Script) -> None:
        await script.welcome()
        await script.socket.send('{"type":"ping","id":7,"time":1.5}')
        pong = await script.hear()
        assert pong == Pong(id=7, time=1.5)
        answered.set()
        await script.until_closed()

    async with connected(play):
        await asyncio.wait_for(answered.wait(), 5)
    gc.collect()
    await settle(lambda: asyncio.all_tasks() == {asyncio.current_task()})
