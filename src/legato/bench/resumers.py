"""Clients whose connections are cut: a process with many of them, each with an echo stream.

It reads lines of JSON from its standard input: first what to open (`Clients`), then when to cut
(`Cut`, on the clock of `perf_counter`, which on Linux all processes share). It answers each with a
line: `null` when all streams have begun, `Outcome` when all have resumed or the time is over. When
its standard input ends it ends its streams, and says how many samples were wrong.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncIterator, Callable
from time import perf_counter
from typing import Final

import msgspec
from websockets.asyncio.client import ClientConnection

from legato.bench.machine import raise_open_files
from legato.client.client import Client
from legato.client.config import ClientConfig
from legato.client.connection import Connection
from legato.client.dialing import dial
from legato.client.pool import Pool
from legato.errors import LegatoError

FRAME: Final = bytes(640)
"""20 ms of 16 kHz PCM."""

SAMPLES: Final = 320
OPENING: Final = 4
"""Streams that are opened at the same time."""

OPEN_TIMEOUT: Final = 90.0
END_TIMEOUT: Final = 15.0
SPARE_FILES: Final = 64


class Clients(msgspec.Struct, frozen=True, kw_only=True):
    """What to open.

    Attributes:
        address: Host and port of the server.
        count: Clients, each with a connection and an echo stream.
        every: Seconds between the frames of a stream.
    """

    address: str
    count: int
    every: float


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A cut of all connections.

    Attributes:
        at: When.
        within: Seconds that are waited for them to resume.
    """

    at: float
    within: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a cut.

    Attributes:
        took: Seconds from the cut until a stream was resumed, of each that was.
        late: Seconds by which the last socket was cut after the moment that was agreed.
        missing: Streams that were not resumed in time.
    """

    took: list[float]
    late: float
    missing: int


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How the streams ended.

    Attributes:
        wrong: Samples lost or doubled, in all.
        failed: Reasons of the streams that failed.
    """

    wrong: int
    failed: list[str]


class Severable(Client):
    """A client that can lose its connection at a moment that is told.

    Args:
        config: How to connect, by one connection.
    """

    def __init__(self, config: ClientConfig) -> None:
        super().__init__(config)
        self._pool = Pool(config, lambda config: Connection(config, dial=self._dial))
        self._socket: ClientConnection | None = None

    def sever(self) -> None:
        """Reset the connection, as a network does that is gone: nothing is said or flushed."""
        if self._socket is None:
            return
        transport = self._socket.transport
        raw = transport.get_extra_info("socket")
        if raw is not None and not transport.is_closing():
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    async def _dial(self, config: ClientConfig) -> ClientConnection:
        self._socket = await dial(config)
        return self._socket


class Talker:
    """One client with its stream.

    Args:
        client: It.
        every: Seconds between frames.
        delay: Seconds before the second frame, so that not all speak at once.

    Attributes:
        wrong: Samples lost or doubled so far.
        sent: Samples sent so far.
        failed: Why the stream failed, or nothing.
        begun: Set once samples have come.
        restored: Set when the stream has arrived on another connection.
        restored_at: When that was.
    """

    def __init__(self, client: Severable, *, every: float, delay: float) -> None:
        self.client = client
        self._every = every
        self._delay = delay
        self._over = asyncio.Event()
        self.sent = 0
        self.wrong = 0
        self.failed = ""
        self.begun = asyncio.Event()
        self.restored = asyncio.Event()
        self.restored_at = 0.0

    async def run(self) -> None:
        """Talk until `stop`, and hear it all."""
        echo = self.client.echo(self._frames())
        echo.on_notice = lambda notice: self._note(notice.kind)
        expected = 0
        try:
            async for chunk in echo:
                self.wrong += abs(chunk.sample - expected)
                expected = chunk.sample + chunk.samples
                self.begun.set()
        except LegatoError as error:
            self.failed = f"{error.code}: {error}"
            self.begun.set()
        self.wrong += abs(self.sent - expected)

    def stop(self) -> None:
        """Say no more."""
        self._over.set()

    def _note(self, kind: str) -> None:
        if kind == "restored" and not self.restored.is_set():
            self.restored_at = perf_counter()
            self.restored.set()

    async def _frames(self) -> AsyncIterator[bytes]:
        pause = self._delay
        while not self._over.is_set():
            self.sent += SAMPLES
            yield FRAME
            try:
                async with asyncio.timeout(pause):
                    await self._over.wait()
            except TimeoutError:
                pause = self._every


class Resumers:
    """All clients of this process.

    Args:
        clients: What to open.
    """

    def __init__(self, clients: Clients) -> None:
        self._limit = asyncio.Semaphore(OPENING)
        config = ClientConfig(url=f"ws://{clients.address}", pool_size=1, connect_timeout=30.0)
        every, count = clients.every, clients.count
        self.talkers = [
            Talker(Severable(config), every=every, delay=every * number / count)
            for number in range(count)
        ]
        self._running: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Begin all streams.

        Raises:
            TimeoutError: If that takes too long.
            ConnectionError: If one of them fails.
        """
        try:
            async with asyncio.timeout(OPEN_TIMEOUT):
                await asyncio.gather(*(self._begin(talker) for talker in self.talkers))
        except TimeoutError as error:
            begun = sum(talker.begun.is_set() for talker in self.talkers)
            raise TimeoutError(
                f"{begun} of {len(self.talkers)} streams began within {OPEN_TIMEOUT:g} s"
            ) from error

    async def cut(self, cut: Cut) -> Outcome:
        """Cut all connections, and wait until the streams are resumed."""
        for talker in self.talkers:
            talker.restored.clear()
        await asyncio.sleep(max(0.0, cut.at - perf_counter()))
        for talker in self.talkers:
            talker.client.sever()
        late = perf_counter() - cut.at
        waits = [asyncio.create_task(talker.restored.wait()) for talker in self.talkers]
        _, pending = await asyncio.wait(waits, timeout=cut.within)
        for wait in pending:
            wait.cancel()
        done = [talker.restored_at - cut.at for talker in self.talkers if talker.restored.is_set()]
        return Outcome(took=done, late=late, missing=len(self.talkers) - len(done))

    async def end(self) -> Ending:
        """End all streams, and count what was wrong."""
        for talker in self.talkers:
            talker.stop()
        _, pending = await asyncio.wait(self._running, timeout=END_TIMEOUT)
        for task in pending:
            task.cancel()
        failed = [talker.failed for talker in self.talkers if talker.failed]
        failed += ["the stream does not end"] * len(pending)
        wrong = sum(talker.wrong for talker in self.talkers)
        await asyncio.gather(*(talker.client.close() for talker in self.talkers))
        return Ending(wrong=wrong, failed=failed)

    async def _begin(self, talker: Talker) -> None:
        async with self._limit:
            self._running.append(asyncio.create_task(talker.run()))
            await talker.begun.wait()
            if talker.failed:
                raise ConnectionError(talker.failed)


async def serve(read: Callable[[], bytes], say: Callable[[object], None]) -> None:
    """Do what the lines say.

    Args:
        read: Waits for the next one; empty at the end.
        say: Answers.
    """
    clients = msgspec.json.decode(await asyncio.to_thread(read), type=Clients)
    raise_open_files(clients.count + SPARE_FILES)
    resumers = Resumers(clients)
    await resumers.open()
    say(None)
    while line := await asyncio.to_thread(read):
        say(await resumers.cut(msgspec.json.decode(line, type=Cut)))
    say(await resumers.end())


def main() -> None:
    """Do what standard input says."""

    def say(message: object) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()

    asyncio.run(serve(sys.stdin.buffer.readline, say))


if __name__ == "__main__":
    main()
