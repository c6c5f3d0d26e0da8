"""Cancel: how soon nothing more comes, and how soon the engine does something else."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from websockets.asyncio.client import ClientConnection, connect

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row, percentile
from legato.protocol.codec import decode_server, encode
from legato.protocol.faults import from_wire
from legato.protocol.media import decode_frame
from legato.protocol.messages import (
    Ack,
    Cancel,
    ClientMessage,
    Error,
    Flush,
    Hello,
    Stop,
    StreamStart,
    Text,
    UtteranceEnd,
)
from legato.protocol.version import VERSION

RUNS = 40
LATEST = 1.5
"""Seconds after the first frame by which the cancel is said: within the burst, or after it."""

QUIET = 0.25
"""Seconds to listen on for frames that should not come."""

ANSWER_TIMEOUT = 10.0
ACK_EVERY = 5

LONG = (
    "This is a long story about a river, a bridge and a man who would not cross it."
    " Every morning he came down to the water, looked at the other side, and went home again. "
) * 10
NEXT = "And now something else."

ONE_SLOT = """\
[[worker.engines]]
kind = "synthesize"
name = "hibari"
slots = 1
"""

SILENCE = Figure("cancel.silence", "s", 0.050)
SLOT = Figure("cancel.slot", "s", 0.200)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What one cancel showed, in seconds after it.

    Attributes:
        last: The last frame of what was cancelled; 0 if none came any more.
        next: The first frame of what was to be said next.
    """

    last: float
    next: float


class Ears:
    """Reads one connection and notes when what came; acknowledges as a client does.

    Args:
        socket: The connection.

    Attributes:
        first: Arrival of the first frame, by stream and utterance.
        last: Arrival of the last frame.
        ended: Utterances whose end was told.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._heard = asyncio.Event()
        self.first: dict[tuple[int, int], float] = {}
        self.last: dict[tuple[int, int], float] = {}
        self.ended: set[tuple[int, int]] = set()

    async def listen(self) -> None:
        """Read on until the connection closes.

        Raises:
            LegatoError: If the server tells of one.
        """
        async for message in self._socket:
            now = perf_counter()
            if isinstance(message, bytes):
                await self._hear(message, now)
            else:
                self._read(message)
            self._heard.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: If that takes longer than 10 s.
        """
        async with asyncio.timeout(ANSWER_TIMEOUT):
            while not is_so():
                self._heard.clear()
                await self._heard.wait()

    async def _hear(self, message: bytes, now: float) -> None:
        frame = decode_frame(message)
        place = (frame.stream, frame.utterance)
        self.first.setdefault(place, now)
        self.last[place] = now
        if frame.seq % ACK_EVERY == 0:
            ack = Ack(stream=frame.stream, received_seq=frame.seq, committed_seq=frame.seq)
            await self._socket.send(encode(ack))

    def _read(self, message: str) -> None:
        said = decode_server(message)
        if isinstance(said, UtteranceEnd):
            self.ended.add((said.stream, said.utterance))
        elif isinstance(said, Error):
            raise from_wire(said.code, said.message)


async def measure(setup: Setup) -> list[Row]:
    """Cancel at many moments of a long text and say something else at once.

    The engine has one slot, so that the next utterance waits for it: its first frame shows that
    the slot is free, and that the engine has spoken.
    """
    runs = setup.times(RUNS, 3)
    rng = random.Random(5)  # noqa: S311  (moments, not secrets)
    found = []
    with TemporaryDirectory() as folder:
        config = Path(folder) / "one-slot.toml"
        config.write_text(ONE_SLOT, encoding="utf-8")
        async with (
            legato_server("--config", str(config)) as running,
            connect(f"{running.url}/v1/stream", compression=None, max_queue=None) as socket,
            asyncio.TaskGroup() as group,
        ):
            ears = Ears(socket)
            listening = group.create_task(ears.listen())
            await socket.send(encode(Hello(version=VERSION)))
            for number in range(runs):
                setup.tell(f"cancel {number + 1} of {runs}")
                found.append(await cancel_once(socket, ears, number + 1, LATEST * rng.random()))
            listening.cancel()
    return rows(found)


async def cancel_once(socket: ClientConnection, ears: Ears, stream: int, after: float) -> Cancelled:
    """Have a long text spoken, cancel it and say something else.

    Args:
        socket: The connection.
        ears: Its reader.
        stream: Number of a stream that was not used before.
        after: Seconds from the first frame to the cancel.
    """

    async def say(*messages: ClientMessage) -> None:
        for message in messages:
            await socket.send(encode(message))

    old, new = (stream, 0), (stream, 1)
    await say(
        StreamStart(
            stream=stream,
            stream_id=uuid.uuid4().hex,
            task="synthesize",
            options={"cache": False},
        ),
        Text(stream=stream, seq=0, text=LONG),
    )
    await ears.until(lambda: old in ears.first)
    await asyncio.sleep(after)
    began = perf_counter()
    await say(
        Cancel(stream=stream, seq=1, utterance=0),
        Text(stream=stream, seq=2, text=NEXT),
        Flush(stream=stream, seq=3),
    )
    await ears.until(lambda: old in ears.ended and new in ears.first)
    await asyncio.sleep(QUIET)
    await say(Stop(stream=stream))
    return Cancelled(max(0.0, ears.last[old] - began), ears.first[new] - began)


def rows(found: Sequence[Cancelled]) -> list[Row]:
    """Make the rows; the slowest cancel is held against the bound."""
    silences = [one.last for one in found]
    late = sum(silence > 0 for silence in silences)
    note = (
        "slowest of all, from the cancel being sent to the last frame of that utterance; after"
        f" {len(found) - late} of {len(found)} cancels none came"
    )
    slots = [one.next for one in found]
    about = (
        "slowest of all, engine with one slot: from the cancel to the first frame of the next"
        " utterance, which needs the slot; its own synthesis is counted"
        f" (median {percentile(slots, 0.5) * 1e3:.0f} ms)"
    )
    return [SILENCE.of(silences, 1.0, note=note), SLOT.of(slots, 1.0, note=about)]


BENCHMARKS = (
    Benchmark(
        name="cancel",
        about="Cancel to the last frame, and to a free engine slot.",
        figures=(SILENCE, SLOT),
        run=measure,
        timeout=180.0,
    ),
)
