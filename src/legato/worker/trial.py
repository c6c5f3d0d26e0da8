"""Tries one engine for the benchmark: `python -m legato.worker.trial`, a job on standard input.

Prints one JSON object a line: `{"tell": ...}` while it goes on, `{"level": ...}` for each number of
streams at once, `{"refused": ...}` if the engine cannot be used. No gateway and no bus take part.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from legato.audio import AudioFormat
from legato.engines import registry
from legato.engines.base import EngineInfo, EngineKind
from legato.errors import EngineUnavailable, LegatoError
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.cputime import cpu_seconds
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess
from legato.worker.weighing import memory

FORMAT: Final = AudioFormat(16_000)
BYTES_PER_SECOND: Final = 32_000
PIECE_BYTES: Final = 3_200
"""100 ms."""

ANY_LANGUAGE: Final = frozenset({"mul", "und"})
"""Tags of ISO 639-2 for several languages and for none in particular."""

SPEAKERS: Final = ("hibari", "espeak")
"""Who says what a recognizer is to hear, in the order of preference."""


class Job(msgspec.Struct, kw_only=True):
    """What is to be tried.

    Attributes:
        kind: Of the engine.
        name: As registered.
        options: Of the engine.
        target: `module:Class` instead of what is registered.
        slots: Streams at once in its process; None takes what the engine says.
        concurrency: Numbers of streams at once, one level after the other.
        seconds: After which a level begins nothing new.
        live: Clips that a recognizer hears live at each level, at least, and one for each stream.
        limit: Seconds that a level may take; it is given up then.
        load_timeout: Seconds that the engine may take to load.
        texts: By language; a synthesizer says those of the first that it knows.
        speech: Raw audio by language, 16 kHz mono s16le; paths.
    """

    kind: EngineKind
    name: str
    concurrency: list[int]
    seconds: float
    live: int
    limit: float
    load_timeout: float
    texts: dict[str, list[str]]
    options: dict[str, Any] = {}
    target: str | None = None
    slots: int | None = None
    speech: dict[str, list[str]] = {}


@dataclass(slots=True)
class Samples:
    """What the streams of one level took, in seconds.

    Attributes:
        waits: From the asking to the first audio; from the end of live speech to the last final.
        rtfs: Wall time of a stream against the audio in it.
        audio: Seconds of it, together.
        wall: Of the level.
    """

    waits: list[float]
    rtfs: list[float]
    audio: float = 0.0
    wall: float = 0.0


class Stage:
    """An engine process with as many streams at once as are wanted; more than its slots wait.

    Args:
        process: That has loaded its engine.
        slots: Streams that it serves at once.
    """

    def __init__(self, process: EngineProcess, slots: int) -> None:
        self._process = process
        self._free = asyncio.Semaphore(slots)

    async def speak(self, text: str, samples: Samples) -> None:
        """Have a text spoken."""
        began, first, size_bytes = perf_counter(), 0.0, 0
        async with self._free:
            call = self._process.open(SynthesisRequest(format=FORMAT))
            await call.feed(text)
            call.end()
            async for output in call:
                if isinstance(output, Sound):
                    first = first or perf_counter() - began
                    size_bytes += len(output.pcm)
        if not size_bytes:
            raise EngineUnavailable("it spoke without a sound")
        audio = size_bytes / BYTES_PER_SECOND
        samples.waits.append(first)
        samples.rtfs.append((perf_counter() - began) / audio)
        samples.audio += audio

    async def hear(self, pcm: bytes, samples: Samples, *, live: bool) -> None:
        """Have speech recognized: as it is spoken, or as fast as it is taken."""
        began, audio = perf_counter(), len(pcm) / BYTES_PER_SECOND
        async with self._free:
            call = self._process.open(RecognitionRequest(format=FORMAT))

            async def feed() -> None:
                for start in range(0, len(pcm), PIECE_BYTES):
                    piece = pcm[start : start + PIECE_BYTES]
                    if live:  # a piece is there when its last sample was spoken
                        due = began + (start + len(piece)) / BYTES_PER_SECOND
                        await asyncio.sleep(max(0.0, due - perf_counter()))
                    await call.feed(piece)
                call.end()

            feeding = asyncio.create_task(feed())
            try:
                async for _ in call:
                    pass
            finally:
                await _ended(feeding)
        took = perf_counter() - began
        if live:
            samples.waits.append(took - audio)
            return
        samples.rtfs.append(took / audio)
        samples.audio += audio


async def _ended(task: asyncio.Task[None]) -> None:
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def run(job: Job) -> None:
    """Try the engine, and print what is found."""
    spec = EngineSpec(
        kind=job.kind, name=job.name, slots=job.slots, target=job.target, options=job.options
    )
    _print(tell="loading")
    began = perf_counter()
    try:
        async with _loaded(spec, job.load_timeout) as (process, info):
            loaded = perf_counter() - began
            material = await _material(job, info)
            slots = process.calls.free
            stage = Stage(process, slots)
            for streams in job.concurrency:
                _print(tell=f"{streams} at once")
                found = await _level(job, stage, material, streams, process.pid or 0)
                about = {"slots": slots, "version": info.version, "load": loaded}
                place = await asyncio.to_thread(device, process.pid)
                _print(level={**about, **found, "streams": streams, "device": place})
    except LegatoError as error:
        _print(refused=error.message)


@asynccontextmanager
async def _loaded(
    spec: EngineSpec, load_timeout: float
) -> AsyncIterator[tuple[EngineProcess, EngineInfo]]:
    config = WorkerConfig(load_timeout=load_timeout, engine_timeout=60.0)
    process = EngineProcess(spec, config)
    info = await process.start()
    try:
        yield process, info
    finally:
        await process.stop()


async def _material(job: Job, info: EngineInfo) -> Sequence[str] | Sequence[bytes]:
    """Return the texts, or the speech, in the first language that job and engine share."""
    known = [tag.split("-")[0].lower() for tag in info.languages]
    any_language = not known or bool(ANY_LANGUAGE & set(known))
    spoken = [language for language in job.texts if any_language or language in known]
    if not spoken:
        raise EngineUnavailable(
            f"it knows {', '.join(info.languages)}; there are texts in {', '.join(job.texts)}"
        )
    if job.kind is EngineKind.SYNTHESIZE:
        return job.texts[spoken[0]]
    for language in spoken:
        if paths := job.speech.get(language):
            return [await asyncio.to_thread(Path(path).read_bytes) for path in paths]
    return await _said(spoken[0], job.texts[spoken[0]])


async def _said(language: str, texts: Sequence[str]) -> list[bytes]:
    """Have texts spoken by an engine that is here, for others to hear."""
    _print(tell="having its speech spoken")
    for name in SPEAKERS:
        spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name=name)
        try:
            info = await asyncio.to_thread(registry.describe, spec.kind, name)
            if not any(tag.split("-")[0] == language for tag in info.languages):
                continue
            async with _loaded(spec, 60.0) as (process, _):
                return [await _pcm(process, text, language) for text in texts[:2]]
        except EngineUnavailable:
            continue
    raise EngineUnavailable(f"nobody here speaks {language} for it: install an engine that does")


async def _pcm(process: EngineProcess, text: str, language: str) -> bytes:
    call = process.open(SynthesisRequest(format=FORMAT, language=language))
    await call.feed(text)
    call.end()
    return b"".join([output.pcm async for output in call if isinstance(output, Sound)])


async def _level(
    job: Job,
    stage: Stage,
    material: Sequence[str] | Sequence[bytes],
    streams: int,
    pid: int,
) -> dict[str, object]:
    """Keep so many streams going for a while."""
    samples, cpu = Samples([], []), cpu_seconds(pid)
    began = perf_counter()

    async def go_on(place: int) -> None:
        turn = place
        while turn == place or perf_counter() - began < job.seconds:
            await _one(stage, material[turn % len(material)], samples)
            turn += streams

    async with _bounded(job, streams) as group:
        for place in range(streams):
            group.create_task(go_on(place))
    samples.wall = perf_counter() - began
    used = None if cpu is None else (cpu_seconds(pid) or 0.0) - cpu
    if job.kind is EngineKind.RECOGNIZE:
        async with _bounded(job, streams) as group:
            for place in range(streams):
                clips = [clip for clip in material[place:] or material if isinstance(clip, bytes)]
                group.create_task(_live(stage, clips, samples, -(-job.live // streams)))
    return {
        "waits": samples.waits,
        "rtfs": samples.rtfs,
        "audio_per_second": samples.audio / samples.wall,
        "cpu_per_second": None if used is None else used / samples.audio,
        "memory": await asyncio.to_thread(_memory, pid),
    }


@asynccontextmanager
async def _bounded(job: Job, streams: int) -> AsyncIterator[asyncio.TaskGroup]:
    """Give a group of tasks that ends in time; the first that fails ends it."""
    try:
        async with asyncio.timeout(job.limit), asyncio.TaskGroup() as group:
            yield group
    except TimeoutError:
        raise EngineUnavailable(f"{streams} at once: not done within {job.limit:g} s") from None
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        raise EngineUnavailable(f"{streams} at once: {first}") from errors


async def _one(stage: Stage, what: str | bytes, samples: Samples) -> None:
    if isinstance(what, str):
        await stage.speak(what, samples)
    else:
        await stage.hear(what, samples, live=False)


async def _live(stage: Stage, clips: Sequence[bytes], samples: Samples, count: int) -> None:
    """Speak clips to a recognizer, one after the other, as a person would."""
    for turn in range(count):
        await stage.hear(clips[turn % len(clips)], samples, live=True)


def _memory(pid: int) -> float | None:
    try:
        return memory("Pss", [pid])
    except OSError:  # no /proc, or not ours to read
        return None


def device(pid: int | None, proc: Path = Path("/proc")) -> str:
    """Return what a process computes on: the graphics card, if it holds one open, else the CPU."""
    held = []
    with contextlib.suppress(OSError):
        held = [str(link.readlink()) for link in (proc / str(pid) / "fd").iterdir()]
    if not any(path.startswith("/dev/nvidia") for path in held):
        return "cpu"
    for told in sorted(proc.glob("driver/nvidia/gpus/*/information")):
        for line in told.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("Model:"):
                return line.partition(":")[2].strip()
    return "gpu"


def _print(**what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Read the job and run it."""
    asyncio.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Job)))


if __name__ == "__main__":
    main()
