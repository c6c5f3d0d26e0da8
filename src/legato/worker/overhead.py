"""One engine bare and in an engine process, for the benchmark: `python -m legato.worker.overhead`.

It says `null` when both are warm, then reads a sentence a line, as JSON, and prints what it cost
each of them (`Costs`), by turns: who is first changes from line to line.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from time import perf_counter
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.speech import SynthesisRequest
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.cputime import cpu_seconds
from legato.worker.frames import Sound
from legato.worker.loading import make_engine
from legato.worker.process import EngineProcess
from legato.worker.service import Engine

NAME: Final = "hibari"
REQUEST: Final = SynthesisRequest(format=AudioFormat(24_000), seed=1)
WARM_UP: Final = "This is only said so that everything is warm before it counts."


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a sentence cost.

    Attributes:
        first: Seconds to its first audio.
        cpu: Processor seconds of the process that the engine is in.
        samples: How many it has.
    """

    first: float
    cpu: float
    samples: int


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What a sentence cost, bare and in an engine process."""

    bare: Cost
    process: Cost


def _loaded() -> Engine:
    engine = make_engine(EngineKind.SYNTHESIZE, NAME, None, {})
    engine.load()
    return engine


def speak_bare(engine: Engine, text: str) -> Cost:
    """Have the engine say a sentence in a plain loop."""
    began, cpu = perf_counter(), time.process_time()
    first, samples = 0.0, 0
    for chunk in engine.synthesize(REQUEST, [text]):  # type: ignore[union-attr]  # it speaks
        first = first or perf_counter() - began
        samples += chunk.samples
    return Cost(first=first, cpu=time.process_time() - cpu, samples=samples)


async def speak_in_process(process: EngineProcess, text: str) -> Cost:
    """Have it said in an engine process.

    Raises:
        RuntimeError: If the system does not tell what a process uses.
    """
    before = _used(process)
    began = perf_counter()
    first, size_bytes = 0.0, 0
    call = process.open(REQUEST)
    await call.feed(text)
    call.end()
    async for output in call:
        if isinstance(output, Sound):
            first = first or perf_counter() - began
            size_bytes += len(output.pcm)
    cpu = _used(process) - before
    return Cost(first=first, cpu=cpu, samples=size_bytes // REQUEST.format.sample_bytes)


def _used(process: EngineProcess) -> float:
    used = None if process.pid is None else cpu_seconds(process.pid)
    if used is None:
        raise RuntimeError("what a process uses is known on Linux only")
    return used


async def serve(read: Callable[[], bytes], say: Callable[[object], None]) -> None:
    """Answer line by line.

    Args:
        read: Waits for the next line; empty at the end.
        say: Answers.
    """
    engine = await asyncio.to_thread(_loaded)
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name=NAME)
    process = EngineProcess(spec, WorkerConfig())
    await process.start()
    try:
        await both(engine, process, WARM_UP, bare_first=True)
        say(None)
        bare_first = True
        while line := await asyncio.to_thread(read):
            text = msgspec.json.decode(line, type=str)
            say(await both(engine, process, text, bare_first=bare_first))
            bare_first = not bare_first
    finally:
        await process.stop()
        engine.close()


async def both(engine: Engine, process: EngineProcess, text: str, *, bare_first: bool) -> Costs:
    """Have a sentence said by both, one after the other."""
    if bare_first:
        bare = speak_bare(engine, text)
        return Costs(bare=bare, process=await speak_in_process(process, text))
    hosted = await speak_in_process(process, text)
    return Costs(bare=speak_bare(engine, text), process=hosted)


def main() -> None:
    """Answer what standard input says."""

    def say(message: object) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()

    asyncio.run(serve(sys.stdin.buffer.readline, say))


if __name__ == "__main__":
    main()
