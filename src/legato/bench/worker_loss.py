"""A worker that is killed with streams in it: how long they stand still, and what is heard."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import numpy as np

from legato.audio import AudioChunk
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.fleet import WORKERS, Cluster, Fleet, fleet
from legato.bench.hearing import LEAD, Ear, Expected, Samples, ramp
from legato.bench.machine import busy_seconds
from legato.bench.process import ServerFailed
from legato.bench.row import Figure, Row
from legato.client.client import Client, connect, fresh_id
from legato.client.exchange import Exchange

ROUNDS: Final = 7
ECHOES: Final = 6
SPEECHES: Final = 6
FRAME_SAMPLES: Final = 320
FRAME: Final = 0.02
"""Seconds of an echo's frame."""

SENTENCE: Final = "Ah so. "
SENTENCE_SECONDS: Final = 0.3
"""Of tones, 50 ms for a character: short, so that the text runs ahead by what it should."""

SENTENCES: Final = 48
"""14 s: more than a round."""

AHEAD: Final = LEAD + SENTENCE_SECONDS
"""Seconds by which text is ahead of its listener: a sentence is spoken when the next one begins."""

AS_HEARD: Final = 1.0
"""Pace of a synthesis beyond what is sent ahead: the listener's lead stays as it was."""

SETTLE: Final = 2.0
"""Seconds of all streams before a kill: leads are there, and the gateway knows who holds what."""

WATCHED: Final = 5.0
"""Seconds after a kill that count; a stream that stands still longer counts as that."""

TIMEOUT: Final = 15.0

MOVING: Final = Figure("worker.killed.moving", "s", 3.0)
SILENCE: Final = Figure("worker.killed.silence", "s", 1.0)
WRONG: Final = Figure("worker.killed.wrong", "samples", 0)


@dataclass(slots=True)
class Performance:
    """One stream and its listener.

    Attributes:
        stream_id: Its name.
        exchange: It.
        ear: What was heard.
        held: Seconds that its listener holds the first sample back, to have the lead.
    """

    stream_id: str
    exchange: Exchange[AudioChunk]
    ear: Ear
    held: float

    async def run(self) -> None:
        """Listen until the stream ends."""
        loop = asyncio.get_running_loop()
        async with aclosing(self.exchange) as chunks:
            async for chunk in chunks:
                self.ear.hear(chunk, loop.time())


@dataclass(frozen=True, slots=True)
class Loss:
    """What a kill did to one stream that the worker held.

    Attributes:
        task: `echo` or `synthesize`.
        moving: Seconds until samples came again.
        silence: Seconds that its listener heard nothing.
        lead: Seconds of audio that its listener had when the worker was killed.
    """

    task: str
    moving: float
    silence: float
    lead: float


async def measure(setup: Setup) -> list[Row]:
    """Kill the worker that holds more, some times over, with a new one in its place each time."""
    values = random.Random(3)  # noqa: S311  (a schedule)
    rounds = setup.times(ROUNDS)
    losses: list[Loss] = []
    wrong = streams = 0
    busy: list[float] = []
    async with fleet() as running, connect(running.gateway.url) as client:
        reference = await _reference(client)
        for number in range(rounds):
            setup.tell(f"kill {number + 1} of {rounds}")
            if number:
                await running.add_worker()
            performances = _performances(client, reference)
            took, cores = await _round(running, performances, values.uniform(0.0, 0.5))
            losses += took
            busy.append(cores)
            streams += len(performances)
            wrong += sum(one.ear.wrong for one in performances)
    return rows_of(losses, wrong=wrong, streams=streams, rounds=rounds, busy=max(busy))


async def _round(
    running: Fleet, performances: Sequence[Performance], pause: float
) -> tuple[list[Loss], float]:
    """Let streams run, kill the worker that holds more of them, and watch."""
    loop = asyncio.get_running_loop()
    tasks = [asyncio.create_task(one.run()) for one in performances]
    try:
        await _until_all_speak(performances, tasks)
        await asyncio.sleep(SETTLE + pause)
        pid, held = victim(await running.cluster(), {one.stream_id for one in performances})
        os.kill(pid, signal.SIGKILL)
        killed, busy = loop.time(), busy_seconds()
        done, _ = await asyncio.wait(tasks, timeout=WATCHED, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
            raise ServerFailed("a stream was over too soon")
        cores = (busy_seconds() - busy) / WATCHED
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    until = killed + WATCHED
    mine = [one for one in performances if one.stream_id in held]
    return [_loss(one, killed, until) for one in mine], cores


def _loss(performance: Performance, killed: float, until: float) -> Loss:
    ear = performance.ear
    return Loss(
        "echo" if performance.held else "synthesize",
        moving=ear.moved_after(killed, until),
        silence=ear.silence(until, held=performance.held),
        lead=ear.lead(killed, held=performance.held),
    )


async def _until_all_speak(
    performances: Sequence[Performance], tasks: Sequence[asyncio.Task[None]]
) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not all(one.ear.arrivals for one in performances):
            for task in tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.02)


def victim(cluster: Cluster, streams: set[str]) -> tuple[int, set[str]]:
    """Return the process of the worker that holds most of the streams, and which those are."""
    by_worker: dict[str, set[str]] = {}
    for lease in cluster.leases:
        if lease.stream_id in streams:
            by_worker.setdefault(lease.worker, set()).add(lease.stream_id)
    pids = {worker.name: worker.pid for worker in cluster.workers}
    known = {name: held for name, held in by_worker.items() if name in pids}
    if not known:
        raise ServerFailed("no worker that is known holds a stream")
    name = max(known, key=lambda name: len(known[name]))
    return pids[name], known[name]


async def _reference(client: Client) -> Samples:
    """Have the text spoken while nothing is wrong."""
    chunks = [chunk.pcm async for chunk in client.speak(SENTENCE * SENTENCES, pace=50.0)]
    return np.frombuffer(b"".join(chunks), "<i2")


def _performances(client: Client, reference: Samples) -> list[Performance]:
    def spoken(at: int, count: int) -> Samples:
        return reference[at : at + count]

    return [_echo(client, ramp) for _ in range(ECHOES)] + [
        _speech(client, spoken) for _ in range(SPEECHES)
    ]


def _echo(client: Client, expected: Expected) -> Performance:
    name = fresh_id()
    return Performance(name, client.echo(_frames(), stream_id=name), Ear(expected), LEAD)


def _speech(client: Client, expected: Expected) -> Performance:
    name = fresh_id()
    speech = client.speak(_sentences(), pace=AS_HEARD, stream_id=name)
    return Performance(name, speech, Ear(expected), 0.0)


async def _sentences() -> AsyncIterator[str]:
    """Give text so far ahead of the listener as audio is sent, as a language model that is slow.

    A whole text would be in the log before the kill, and its worker would not be missed.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(SENTENCES):
        yield SENTENCE
        due = began + (number + 1) * SENTENCE_SECONDS - AHEAD
        await asyncio.sleep(max(0.0, due - loop.time()))


async def _frames() -> AsyncIterator[bytes]:
    """Give frames in real time, for ever."""
    loop = asyncio.get_running_loop()
    began, sample = loop.time(), 0
    while True:
        yield ramp(sample, FRAME_SAMPLES).tobytes()
        sample += FRAME_SAMPLES
        due = began + sample / FRAME_SAMPLES * FRAME
        await asyncio.sleep(max(0.0, due - loop.time()))


def rows_of(
    losses: Sequence[Loss], *, wrong: int, streams: int, rounds: int, busy: float
) -> list[Row]:
    """Make the rows.

    Args:
        losses: Of all streams that a killed worker held.
        wrong: Samples, over all streams.
        streams: How many there were.
        rounds: How many workers were killed.
        busy: Cores that all on the machine took after a kill, at most.
    """
    split = {task: [one for one in losses if one.task == task] for task in ("echo", "synthesize")}
    worst = ", ".join(
        f"{len(some)} of {task}: {max(one.moving for one in some):.2f} s"
        for task, some in split.items()
        if some
    )
    about = (
        f"{rounds} kills (SIGKILL) of one of {WORKERS} workers, lease 2 s, through Redis;"
        f" {busy:.2f} cores were busy"
    )
    leads = [one.lead for one in losses]
    heard = (
        f"longest of all; a listener with {LEAD:g} s of lead ({min(leads):.2f} to"
        f" {max(leads):.2f} s when it happened): syntheses are played from their first sample"
        f" on, echoes {LEAD:g} s after it; {about}"
    )
    moving = f"slowest of all streams in the worker, until samples came again; {worst}; {about}"
    return [
        MOVING.of([one.moving for one in losses], 1.0, note=moving),
        SILENCE.of([one.silence for one in losses], 1.0, note=heard),
        WRONG.row(wrong, n=streams, note="lost, doubled or not those of their place"),
    ]


BENCHMARKS = (
    Benchmark(
        name="worker.killed",
        about="A worker is killed with streams in it: time until they go on, and silence heard.",
        figures=(MOVING, SILENCE, WRONG),
        run=measure,
        timeout=240.0,
    ),
)
