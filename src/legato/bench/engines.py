"""What each engine costs on this machine: the table that everybody asks for.

Engine by engine in a process of the worker's kind, without gateway and bus: so many streams at
once, and what each of them waits.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from legato.bench import clips
from legato.bench.report import digits
from legato.bench.row import percentile
from legato.bench.speaking import SENTENCES

CONCURRENCY: Final = (1, 2, 4, 8)
SECONDS: Final = 8.0
LIVE: Final = 4
LIMIT: Final = 90.0
MAX_LINE_BYTES: Final = 1 << 20

CHINESE: Final = (
    "那天早上旧港口很安静，只有两只海鸥沿着墙边慢慢地走来走去。",
    "请记得带上护照、车票和一件暖和的外套，因为山里到了六月还很冷。",
    "雨终于停了以后，孩子们跑到花园里，数了数今天能找到的所有蜗牛。",
    "下一班进城的火车十二分钟后从九号站台发车，车上还有很多座位。",
)

HEADINGS: Final = (
    "engine",
    "device",
    "at once",
    "slots",
    "n",
    "wait p50",
    "wait p95",
    "RTF p50",
    "RTF p95",
    "audio s/s",
    "CPU s/s",
    "PSS MiB",
)

LEGEND: Final = (
    "wait: of a synthesizer from the asking to the first audio; of a recognizer from the end of"
    " live speech to the last final (n of them). RTF: wall time of a stream against its audio,"
    " below 1 keeps up; a recognizer is fed as fast as it takes it. audio s/s: audio done each"
    " second by all streams together. CPU s/s: processor time for a second of audio. Each stream"
    " begins the next text as soon as one is done, so that so many are always at work: live ones,"
    " which listen to what they got, wait less. Streams beyond the engine's slots wait; that is in"
    " the figures."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An engine to be measured.

    Attributes:
        kind: `synthesize` or `recognize`.
        name: As registered.
        target: `module:Class` instead.
        slots: Streams at once in its process; None takes what the engine says.
        options: Of the engine.
        load_timeout: Seconds that it may take to load.
    """

    kind: str
    name: str
    target: str | None = None
    slots: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    load_timeout: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One line of the table; times in seconds, None where nothing was measured.

    Attributes:
        engine: Name.
        kind: `synthesize` or `recognize`.
        version: Of the engine or its weights.
        device: `cpu`, or the graphics card.
        streams: At once.
        slots: Streams that the engine serves at once.
        n: Waits that were measured.
        wait_p50: To the first audio, or from the end of speech to the last final; median.
        wait_p95: The same, 95th percentile.
        rtf_p50: Real-time factor of a stream, median.
        rtf_p95: 95th percentile.
        audio_per_second: Seconds of audio done each second, all streams together.
        cpu_per_second: Processor seconds for a second of audio.
        memory_mib: Of the engine's process (proportional set size) after the level.
        load: Seconds to load and warm up.
        note: Why there are no figures.
    """

    engine: str
    kind: str
    version: str = ""
    device: str = ""
    streams: int = 0
    slots: int = 0
    n: int = 0
    wait_p50: float | None = None
    wait_p95: float | None = None
    rtf_p50: float | None = None
    rtf_p95: float | None = None
    audio_per_second: float | None = None
    cpu_per_second: float | None = None
    memory_mib: float | None = None
    load: float | None = None
    note: str = ""

    def as_json(self, machine: str) -> dict[str, str | float | None]:
        """Return the line for a program."""
        return {**asdict(self), "machine": machine}

    def cells(self) -> list[str]:
        """Return the line for a person, one cell for each of `HEADINGS`."""
        if self.note:
            return [self.engine, self.note]
        milliseconds = (self.wait_p50, self.wait_p95)
        others = (self.rtf_p50, self.rtf_p95, self.audio_per_second, self.cpu_per_second)
        return [
            self.engine,
            self.device,
            str(self.streams),
            str(self.slots),
            str(self.n),
            *("" if value is None else f"{digits(value * 1e3)} ms" for value in milliseconds),
            *("" if value is None else f"{value:.3g}" for value in others),
            "" if self.memory_mib is None else f"{self.memory_mib:.0f}",
        ]


async def measure(
    candidates: Sequence[Candidate],
    *,
    concurrency: Sequence[int] = CONCURRENCY,
    seconds: float = SECONDS,
    live: int = LIVE,
    tell: Callable[[str], None],
) -> list[Reading]:
    """Measure engines one after the other; one that fails costs the others nothing.

    Args:
        candidates: Which.
        concurrency: Streams at once, level by level.
        seconds: After which a level begins nothing new.
        live: Clips that a recognizer hears live at each level, at least.
        tell: Shows how far it is.
    """
    readings: list[Reading] = []
    async with _recorded() as speech:
        for candidate in candidates:

            def say(text: str, name: str = candidate.name) -> None:
                tell(f"{name}: {text}")

            job = _job(candidate, concurrency, speech) | {"seconds": seconds, "live": live}
            bound = candidate.load_timeout + 2 * (LIMIT + seconds) * len(concurrency)
            try:
                async with asyncio.timeout(bound):
                    readings += await _tried(candidate, job, say)
            except TimeoutError:
                readings.append(_without(candidate, f"not done within {bound:g} s"))
    return readings


def _job(
    candidate: Candidate,
    concurrency: Sequence[int],
    speech: Mapping[str, Sequence[str]],
) -> dict[str, object]:
    return {
        "kind": candidate.kind,
        "name": candidate.name,
        "target": candidate.target,
        "slots": candidate.slots,
        "options": dict(candidate.options),
        "concurrency": list(concurrency),
        "limit": LIMIT,
        "load_timeout": candidate.load_timeout,
        "texts": {"en": SENTENCES, "zh": CHINESE},
        "speech": speech,
    }


@asynccontextmanager
async def _recorded() -> AsyncIterator[dict[str, list[str]]]:
    """Give recordings of people by language, as files of raw audio, where they are installed."""
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="legato-bench-")
    try:
        yield await asyncio.to_thread(_record, Path(folder))
    finally:
        await asyncio.to_thread(shutil.rmtree, folder)


def _record(folder: Path) -> dict[str, list[str]]:
    try:
        recordings = clips.librivox()
    except FileNotFoundError:
        return {}
    paths = []
    for clip in sorted(recordings, key=lambda clip: clip.seconds):
        path = folder / f"{clip.name}.raw"
        path.write_bytes(clip.pcm)
        paths.append(str(path))
    return {"en": paths}


async def _tried(
    candidate: Candidate, job: dict[str, object], tell: Callable[[str], None]
) -> list[Reading]:
    """Run the worker's program that tries an engine, and read what it prints."""
    trial = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "legato.worker.trial",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
    )
    assert trial.stdin is not None  # noqa: S101  (pipes were asked for)
    assert trial.stdout is not None  # noqa: S101  (the same)
    readings = []
    try:
        trial.stdin.write(json.dumps(job).encode())
        trial.stdin.close()
        while line := await trial.stdout.readline():
            said = json.loads(line)
            if "tell" in said:
                tell(said["tell"])
            elif "level" in said:
                readings.append(_reading(candidate, said["level"]))
            else:
                readings.append(_without(candidate, said["refused"]))
        code = await trial.wait()
    finally:
        with suppress(ProcessLookupError):
            trial.kill()
        await trial.wait()
    if code:
        readings.append(_without(candidate, f"its trial ended with {code}"))
    return readings


def _reading(candidate: Candidate, level: Mapping[str, Any]) -> Reading:
    waits, rtfs = level["waits"], level["rtfs"]
    return Reading(
        engine=candidate.name,
        kind=candidate.kind,
        version=level["version"],
        device=level["device"],
        streams=level["streams"],
        slots=level["slots"],
        n=len(waits),
        wait_p50=percentile(waits, 0.5),
        wait_p95=percentile(waits, 0.95),
        rtf_p50=percentile(rtfs, 0.5),
        rtf_p95=percentile(rtfs, 0.95),
        audio_per_second=level["audio_per_second"],
        cpu_per_second=level["cpu_per_second"],
        memory_mib=level["memory"],
        load=level["load"],
    )


def _without(candidate: Candidate, why: str) -> Reading:
    return Reading(engine=candidate.name, kind=candidate.kind, note=why)


def markdown(readings: Sequence[Reading], *, command: str, machine: str, date: str) -> str:
    """Return the table for a page, and what it was measured on."""
    measured = [reading for reading in readings if not reading.note]
    rows = [f"| {' | '.join(reading.cells())} |" for reading in measured]
    notes = [f"- `{reading.engine}`: {reading.note}" for reading in readings if reading.note]
    heading = f"| {' | '.join(HEADINGS)} |"
    lines = [
        f"`{command}`, {date}, on {machine}.",
        "",
        heading,
        "|---" * len(HEADINGS) + "|",
        *rows,
    ]
    return "\n".join([*lines, "", LEGEND, *notes])
