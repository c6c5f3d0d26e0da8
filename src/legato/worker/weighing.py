"""Weighs engine processes for the benchmark: `python -m legato.worker.weighing RUNS`.

Prints one JSON object; sentences come as a JSON array on standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess
from legato.worker.template import Template, template_for

WARM_UP_RUNS: Final = 3
FORMAT: Final = AudioFormat(16_000)
SPEAKING: Final = EngineSpec(kind=EngineKind.SYNTHESIZE, name="hibari", processes=2)
LISTENING: Final = EngineSpec(kind=EngineKind.RECOGNIZE, name="moonshine", processes=2)

Work = Callable[[EngineProcess], Awaitable[object]]


async def weigh(sentences: Sequence[str], runs: int) -> dict[str, object]:
    """Weigh both engines' processes at work; let a forked and a fresh process speak by turns.

    Returns:
        `hibari` and `moonshine`: MiB of the first process (Rss), of it and the template (Pss), and
        of these with a second process (Pss); `took`: seconds of the fresh process and of the
        forked one, run by run.
    """
    spoken = await weighed(SPEAKING, lambda process: speak(process, *sentences))
    async with engine_process(SPEAKING, None) as fresh:
        speech = await speak(fresh, *sentences)
        heard = await weighed(LISTENING, lambda process: listen(process, speech))
        async with sharing(SPEAKING) as template, engine_process(SPEAKING, template) as forked:
            took = await by_turns((fresh, forked), sentences, runs)
    return {"hibari": spoken, "moonshine": heard, "took": took}


async def weighed(spec: EngineSpec, work: Work) -> tuple[float, float, float]:
    """Weigh one and then two engine processes after some work; MiB."""
    async with sharing(spec) as template, engine_process(spec, template) as first:
        await work(first)
        pids = [template.pid, first.pid]
        rss = await asyncio.to_thread(memory, "Rss", [first.pid])
        one = await asyncio.to_thread(memory, "Pss", pids)
        async with engine_process(spec, template) as second:
            await work(second)
            two = await asyncio.to_thread(memory, "Pss", [*pids, second.pid])
    return rss, one, two


@asynccontextmanager
async def sharing(spec: EngineSpec) -> AsyncIterator[Template]:
    """Give a template for the length of the block.

    Raises:
        RuntimeError: If engine processes share nothing on this system.
    """
    template = template_for(spec, WorkerConfig())
    if template is None:
        raise RuntimeError("engine processes share weights on Linux only")
    try:
        yield template
    finally:
        await template.stop()


@asynccontextmanager
async def engine_process(
    spec: EngineSpec, template: Template | None
) -> AsyncIterator[EngineProcess]:
    """Run a process of an engine, fresh or forked of a template, for the length of the block."""
    process = EngineProcess(spec, WorkerConfig(), template=template)
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


async def speak(process: EngineProcess, *sentences: str) -> bytes:
    """Have sentences spoken, at 16 kHz; as in a worker each is a piece of its own."""
    call = process.open(SynthesisRequest(format=FORMAT))
    for sentence in sentences:
        await call.feed(sentence)
    call.end()
    return b"".join([output.pcm async for output in call if isinstance(output, Sound)])


async def listen(process: EngineProcess, pcm: bytes) -> int:
    """Have speech of 16 kHz recognized; return how many outputs there were."""
    call = process.open(RecognitionRequest(format=FORMAT))

    async def feed() -> None:
        for start in range(0, len(pcm), 6_400):
            await call.feed(pcm[start : start + 6_400])
        call.end()

    feeding = asyncio.create_task(feed())
    outputs = len([output async for output in call])
    await feeding
    return outputs


async def by_turns(
    processes: tuple[EngineProcess, EngineProcess], sentences: Sequence[str], runs: int
) -> list[tuple[float, float]]:
    """Let two processes speak by turns; return the seconds that each took, run by run."""
    took = []
    for number in range(WARM_UP_RUNS + runs):
        seconds = [0.0, 0.0]
        for place in (0, 1) if number % 2 else (1, 0):
            began = perf_counter()
            await speak(processes[place], sentences[number % len(sentences)])
            seconds[place] = perf_counter() - began
        if number >= WARM_UP_RUNS:
            took.append((seconds[0], seconds[1]))
    return took


def memory(kind: str, pids: Iterable[int | None]) -> float:
    """Return MiB of processes' memory: their `Rss` or `Pss` in smaps_rollup (proc(5)), added up."""
    found = [
        int(line.split()[1]) / 1024
        for pid in pids
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        if line.startswith(f"{kind}:")
    ]
    return sum(found)


def main(arguments: Sequence[str]) -> None:
    """Weigh, and print what was found."""
    found = asyncio.run(weigh(json.load(sys.stdin), int(arguments[0])))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
