"""Ten thousand streams that are started and dropped: what is left of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.dialects import Legato
from legato.bench.machine import open_files, rss_bytes
from legato.bench.process import ServerFailed
from legato.bench.row import Figure, Row
from legato.bench.stack import Stack, folder, shared
from legato.bench.trend import SIGNIFICANT, score, slope
from legato.bench.wire_client import BINARY, BadServer, Dialled

STREAMS: Final = 10_000
AT_ONCE: Final = 16
SAMPLE_EVERY: Final = 250
"""Streams between readings of the memory."""

WARM_UP: Final = 5_000
"""Streams before the readings count: bounded caches (4,096 entries the largest) and the allocator's
pools fill first."""

RESUME_WINDOW: Final = 1.0
CHUNKS: Final = 2
ANSWER: Final = 10.0
SETTLE: Final = 90.0
"""Seconds until all that a dropped stream held must be gone."""

LOOK_EVERY: Final = 0.5
QUIET_LOOKS: Final = 40
"""20 s: what lets a claim be repeated lives for 15 s."""
TOMBSTONES: Final = b"legato:t:"
WATCHED: Final = ("gateway", "worker")

MEMORY: Final = {name: Figure(f"soak.memory.{name}", "KiB", 1.0) for name in WATCHED}
TREND: Final = {name: Figure(f"soak.trend.{name}", "sd", SIGNIFICANT) for name in WATCHED}
TASKS: Final = Figure("soak.tasks", "tasks", 0)
FILES: Final = Figure("soak.descriptors", "files", 0)
KEYS: Final = Figure("soak.keys", "keys", 0)
FAILED: Final = Figure("soak.failed", "streams", 0)


@dataclass(slots=True)
class Holdings:
    """What the processes hold together.

    Attributes:
        tasks: Not done, and threads.
        files: Open descriptors.
        keys: In Redis, tombstones aside.
    """

    tasks: dict[str, int]
    files: dict[str, int]
    keys: set[bytes]


@dataclass(slots=True)
class Readings:
    """Memory as the streams go by.

    Attributes:
        at: Streams so far.
        rss: Bytes of each process.
        failed: Reasons of the streams that were not served.
    """

    at: list[float] = field(default_factory=list)
    rss: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in WATCHED})
    failed: list[str] = field(default_factory=list)


async def measure(setup: Setup) -> list[Row]:
    """Start and drop streams, reading the memory, and wait until nothing is left of them."""
    streams = setup.times(STREAMS, 100)
    warm_up = setup.times(WARM_UP, 50)
    async with folder() as report:
        reports = {name: str(report / f"{name}.json") for name in WATCHED}
        async with shared(resume_window=RESUME_WINDOW, reports=reports) as stack:
            await _drop(stack, warm_up, Readings(), setup)
            before = await _settled(stack, report)
            readings = Readings()
            await _drop(stack, streams, readings, setup)
            after = await _settled(stack, report, before)
    return rows_of(readings, before, after, streams, warm_up)


async def _drop(stack: Stack, count: int, readings: Readings, setup: Setup) -> None:
    done = 0
    while done < count:
        batch = min(setup.times(SAMPLE_EVERY, 25), count - done)
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(limit: asyncio.Semaphore = limit) -> None:
            async with limit:
                try:
                    await asyncio.to_thread(_start_and_drop, stack.running.address)
                except (OSError, BadServer) as error:
                    readings.failed.append(f"{type(error).__name__}: {error}")

        failed = len(readings.failed)
        async with asyncio.TaskGroup() as group:
            for _ in range(batch):
                group.create_task(one())
        if len(readings.failed) - failed == batch:
            raise ServerFailed(f"no stream of {batch} was served: {readings.failed[-1]}")
        done += batch
        setup.tell(f"{done} of {count} streams")
        readings.at.append(done)
        for name in WATCHED:
            readings.rss[name].append(rss_bytes(stack.pids[name]))


def _start_and_drop(address: str) -> None:
    """Start an echo, have some of it answered, and go without a word."""
    dialect = Legato()
    line = Dialled(address, dialect.path)
    try:
        dialect.greet(line)
        line.socket.settimeout(ANSWER)
        for index in range(CHUNKS):
            line.socket.sendall(dialect.chunk(index))
            while True:
                opcode, payload = line.receive()
                if opcode == BINARY and dialect.answers(opcode, payload):
                    break
    finally:
        line.socket.close()


async def _settled(stack: Stack, report: Path, before: Holdings | None = None) -> Holdings:
    """Look until all is as it was before, or for the first time until nothing changes any more."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLE
    await asyncio.sleep(2 * RESUME_WINDOW)
    held, quiet = await _look(stack, report), 0
    while loop.time() < deadline and quiet < QUIET_LOOKS:
        await asyncio.sleep(LOOK_EVERY)
        last, held = held, await _look(stack, report)
        if before is not None and held == before:
            return held
        quiet = quiet + 1 if before is None and held == last else 0
    return held


async def _look(stack: Stack, report: Path) -> Holdings:
    tasks = {}
    for name in WATCHED:
        counts = await asyncio.to_thread(_ask, stack.pids[name], report / f"{name}.json")
        tasks[name] = sum(counts.values())
    files = {name: open_files(stack.pids[name]) for name in WATCHED}
    return Holdings(tasks, files, await asyncio.to_thread(_keys, stack.redis_url))


def _ask(pid: int, path: Path) -> dict[str, int]:
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR2)
    deadline = time.monotonic() + ANSWER
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {pid} does not say what it holds")
        time.sleep(0.01)
    return dict(json.loads(path.read_text("utf-8")))


def _keys(url: str) -> set[bytes]:
    from redis import Redis  # comes with the extra that the bus needs

    with Redis.from_url(url) as store:
        return {key for key in store.scan_iter(count=1000) if not key.startswith(TOMBSTONES)}


def rows_of(
    readings: Readings, before: Holdings, after: Holdings, streams: int, warm_up: int
) -> list[Row]:
    """Make the rows.

    Args:
        readings: Of the memory.
        before: What was held before the streams that count.
        after: What was held once nothing changed any more.
        streams: How many there were.
        warm_up: How many came before.
    """
    about = (
        f"{streams} streams after {warm_up} that do not count, {AT_ONCE} at once, each dropped"
        f" after {CHUNKS} answered chunks; a reading every {SAMPLE_EVERY}"
    )
    rows = []
    for name in WATCHED:
        memory = readings.rss[name]
        growth = slope(readings.at, memory) / 1024
        total = (memory[-1] - memory[0]) / 1024
        note = f"for a stream, median slope of all pairs; {total:.0f} KiB in all; {about}"
        rows.append(MEMORY[name].row(growth, n=len(memory), note=note))
    for name in WATCHED:
        note = "Mann-Kendall score of the same readings; above the bound growth is significant"
        rows.append(TREND[name].row(score(readings.rss[name]), n=len(readings.at), note=note))
    counts: tuple[tuple[Figure, Callable[[Holdings], dict[str, int]]], ...] = (
        (TASKS, lambda held: held.tasks),
        (FILES, lambda held: held.files),
    )
    for figure, of in counts:
        more = sum(abs(of(after)[name] - of(before)[name]) for name in WATCHED)
        note = f"away from the baseline; before {of(before)}, after {of(after)}"
        rows.append(figure.row(more, n=streams, note=note))
    changed = sorted(before.keys ^ after.keys)
    left = f": {changed[0].decode(errors='replace')} …" if changed else ""
    note = f"in Redis, tombstones aside; {len(before.keys)} before, {len(after.keys)} after{left}"
    rows.append(KEYS.row(len(changed), n=streams, note=note))
    why = f"; {readings.failed[0]}" if readings.failed else ""
    rows.append(FAILED.row(len(readings.failed), n=streams, note=f"not started or answered{why}"))
    return rows


BENCHMARKS = (
    Benchmark(
        name="soak",
        about="What is left of 10,000 streams that were started and dropped; only when named.",
        figures=(*MEMORY.values(), *TREND.values(), TASKS, FILES, KEYS, FAILED),
        run=measure,
        timeout=900.0,
        named_only=True,
    ),
)
