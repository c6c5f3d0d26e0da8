"""Open-loop load: frames leave when they are due, and latency counts from then.

A generator that is itself late would take its own queue for the server's: it reports its
lateness, and a run in which that is large is no measurement. Its clock is `perf_counter`; the
event loop's has a resolution of a millisecond.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from websockets.asyncio.client import ClientConnection, connect

from legato.bench.machine import cpu_seconds
from legato.bench.process import Running
from legato.bench.row import percentile

FRAME = 0.02
FRAME_BYTES = 640
WARM_UP = 1.0
"""Seconds of each run that are not counted."""

DRAIN = 2.0
"""Seconds after the last frame in which answers still count; what comes later is lost."""

Messages = list[str | bytes]


class Peer(Protocol):
    """How one server's echo is spoken to, on one connection."""

    path: str

    async def greet(self, socket: ClientConnection) -> None:
        """Open the stream."""

    def encode(self, index: int) -> Messages:
        """Return the messages of frame `index`: the frame last."""

    def decode(self, message: str | bytes) -> int:
        """Count the frames that a message brings back."""

    def farewell(self) -> Messages:
        """Return the messages that end the stream."""


@dataclass(slots=True)
class Load:
    """What a run showed.

    Attributes:
        latencies: Seconds from the intended send time to the answer, warm-up left out.
        lateness: Seconds by which the generator was late, warm-up left out.
        lost: Frames without an answer.
        frames: Frames answered while CPU was counted.
        cpu: Seconds of CPU that the server used for them.
    """

    latencies: list[float] = field(default_factory=list)
    lateness: list[float] = field(default_factory=list)
    lost: int = 0
    frames: int = 0
    cpu: float = 0.0

    @property
    def cpu_per_frame_us(self) -> float:
        """Microseconds of the server's CPU for a frame up and its echo down.

        Raises:
            ValueError: If no frame was answered.
        """
        if not self.frames:
            raise ValueError("no frame was answered")
        return self.cpu / self.frames * 1e6

    def late(self, bound: float) -> str:
        """Say why this is no measurement, if the generator was late by more than `bound` at p99."""
        lateness = percentile(self.lateness, 0.99)
        if lateness <= bound:
            return ""
        return (
            f"invalid: the load generator was late by {lateness * 1e3:.1f} ms at p99"
            f" (above {bound * 1e3:g}), so the figure says nothing of the server"
        )


async def run(server: Running, peer: Callable[[], Peer], *, streams: int, seconds: float) -> Load:
    """Echo frames on `streams` connections for `seconds`, one frame each 20 ms.

    Args:
        server: The one under load; its CPU is counted.
        peer: Makes the speaker for one connection.
        streams: Connections; their frames are spread evenly over 20 ms.
        seconds: Length, warm-up included.
    """
    load = Load()
    async with asyncio.TaskGroup() as opening:
        opened = [opening.create_task(_open(server, peer())) for _ in range(streams)]
    lines = [task.result() for task in opened]
    try:
        with _steady():
            start = perf_counter() + 0.2
            end = start + seconds
            async with asyncio.TaskGroup() as group:
                group.create_task(_count_cpu(load, server.pid, start + WARM_UP, end))
                for number, line in enumerate(lines):
                    line.first_due = start + FRAME * number / streams
                    line.counted_from = start + WARM_UP
                    group.create_task(_talk(line, load, end))
    finally:
        await asyncio.gather(*map(_close, lines))
    return load


@contextmanager
def _steady() -> Iterator[None]:
    """Keep the collector away from what is older than the run: its pauses would be lateness."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass(slots=True)
class _Line:
    """One connection of the load."""

    socket: ClientConnection
    peer: Peer
    first_due: float = 0.0
    counted_from: float = 0.0
    sent: int = 0
    answered: int = 0
    over: bool = False


async def _open(server: Running, peer: Peer) -> _Line:
    socket = await connect(
        server.url + peer.path, compression=None, ping_interval=None, max_queue=None
    )
    await peer.greet(socket)
    return _Line(socket, peer)


async def _close(line: _Line) -> None:
    for message in line.peer.farewell():
        await line.socket.send(message)
    await line.socket.close()


async def _talk(line: _Line, load: Load, end: float) -> None:
    hearing = asyncio.create_task(_hear(line, load))
    try:
        while (due := line.first_due + line.sent * FRAME) < end:
            delay = due - perf_counter()
            if delay > 0:
                await asyncio.sleep(delay)
            messages = line.peer.encode(line.sent)
            line.sent += 1
            if due >= line.counted_from:
                load.lateness.append(max(0.0, perf_counter() - due))
            for message in messages:
                await line.socket.send(message)
        line.over = True
        if line.answered < line.sent:
            await asyncio.wait({hearing}, timeout=DRAIN)
        load.lost += line.sent - line.answered
    finally:
        hearing.cancel()


async def _hear(line: _Line, load: Load) -> None:
    async for message in line.socket:
        now = perf_counter()
        for _ in range(line.peer.decode(message)):
            due = line.first_due + line.answered * FRAME
            line.answered += 1
            if due >= line.counted_from:
                load.latencies.append(now - due)
        if line.over and line.answered >= line.sent:
            return


async def _count_cpu(load: Load, pid: int, start: float, end: float) -> None:
    await asyncio.sleep(max(0.0, start - perf_counter()))
    cpu, frames = cpu_seconds(pid), len(load.latencies)
    await asyncio.sleep(max(0.0, end - perf_counter()))
    load.cpu = cpu_seconds(pid) - cpu
    load.frames = len(load.latencies) - frames
