"""A stream on a memory bus, seen from the client's side, and the tone engine to work on it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from legato.bus.base import Claim, Committed, Direction, Entry, Item, Job, StreamKey, UpItem
from legato.bus.memory import Bounds, MemoryBus
from legato.engines.base import EngineKind
from legato.engines.registry import Listing
from legato.engines.tone import ToneRecognizer, ToneSynthesizer
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Error,
    Finalize,
    Flush,
    StreamEnd,
    StreamStart,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.pool import EnginePool

DEADLINE = 20.0
TONE = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=8)
TONE_RECOGNIZER = EngineSpec(kind=EngineKind.RECOGNIZE, name="tone", slots=8)


def listing(spec: EngineSpec) -> Listing | None:
    """What the registry would say, without the import of all engines."""
    if spec.target is not None:
        return None
    speaks = spec.kind is EngineKind.SYNTHESIZE
    info = ToneSynthesizer.info if speaks else ToneRecognizer.info
    return Listing(name="tone", kind=spec.kind, info=info)


async def eventually(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Let the loop turn until `condition` holds."""
    async with asyncio.timeout(DEADLINE):
        while True:
            held = condition()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(0)


class Running:
    """Pools that run for as long as the block."""

    def __init__(self, *specs: EngineSpec, config: WorkerConfig | None = None) -> None:
        self._specs = specs
        self._config = config or WorkerConfig()

    async def __aenter__(self) -> list[EnginePool]:
        self.pools = [
            EnginePool(spec, self._config, listing(spec), changed=lambda: None)
            for spec in self._specs
        ]
        self._tasks = [asyncio.create_task(pool.run()) for pool in self.pools]
        for pool in self.pools:
            await pool.settled()
        return self.pools

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass
class Stage:
    """One stream: what the client says goes up, what the worker says is kept."""

    start: StreamStart
    bus: MemoryBus = field(default_factory=MemoryBus)
    engine: str = "tone"
    down: list[Item] = field(default_factory=list)
    seq: int = 0
    sample: int = 0
    last_mark_entry: int = 1

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()

    @classmethod
    async def open(
        cls, task: str, *, bus: MemoryBus | None = None, engine: str = "tone", **fields: object
    ) -> "Stage":
        name = str(fields.pop("stream_id", "s"))
        start = StreamStart(stream_id=name, task=task, **fields)  # type: ignore[arg-type]  # tests
        stage = cls(start=start, engine=engine, bus=bus or MemoryBus())
        await stage.bus.logs.create(stage.key, ttl=600)
        stage.bus.logs.follow(stage.key, Direction.DOWN, stage._deliver)
        return stage

    @property
    def key(self) -> StreamKey:
        return StreamKey("default", self.start.stream_id)

    @property
    def job(self) -> Job:
        return Job(key=self.key, engine=self.engine, start=self.start, seed=7)

    def claim(self, *, fence: int = 1, deliveries: int = 1) -> Claim:
        return Claim(job=self.job, fence=fence, deliveries=deliveries, holder="test")

    def _deliver(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.down.extend(entry.items)
            if any(isinstance(item, Committed) for item in entry.items):
                self.last_mark_entry = entry.number
        self._changed.set()

    def _say(self, item: UpItem) -> None:
        self.bus.logs.writer(self.key, Direction.UP).append([item])
        self.seq += 1

    def text(self, *pieces: str) -> None:
        for piece in pieces:
            self._say(Text(seq=self.seq, text=piece))

    def flush(self) -> None:
        self._say(Flush(seq=self.seq))

    def finalize(self) -> None:
        self._say(Finalize(seq=self.seq))

    def cancel(self, utterance: int) -> None:
        self._say(Cancel(seq=self.seq, utterance=utterance))

    def end(self) -> None:
        self._say(StreamEnd(seq=self.seq))

    def audio(self, pcm: bytes, *, last: bool = False) -> None:
        self._say(AudioFrame(pcm, self.seq, last, sample=self.sample))
        self.sample += len(pcm) // (2 * self.start.channels)

    def frames_of(self, pcm: bytes, size_bytes: int = 640) -> None:
        for at in range(0, len(pcm), size_bytes):
            self.audio(pcm[at : at + size_bytes])

    async def until(self, condition: Callable[["Stage"], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()

    async def more_than(self, seen: int) -> None:
        await self.until(lambda stage: len(stage.down) > seen)

    async def drain(self) -> None:
        """Read and trim until the last word."""
        seen = len(self.down) - 1
        while not self.last_word:
            await self.more_than(seen)
            seen = len(self.down)  # what comes while it is trimmed is looked at next
            await self.bus.logs.trim(self.key, Direction.DOWN, upto=self.last_mark_entry - 1)

    async def over(self) -> None:
        await self.until(lambda stage: stage.last_word)

    @property
    def last_word(self) -> StreamEnd | Error | None:
        words = [item for item in self.down if isinstance(item, StreamEnd | Error)]
        return words[-1] if words else None

    @property
    def frames(self) -> list[AudioFrame]:
        return [item for item in self.down if isinstance(item, AudioFrame)]

    def pcm(self, utterance: int | None = None) -> bytes:
        wanted = [f for f in self.frames if utterance in (None, f.utterance)]
        return b"".join(frame.payload for frame in wanted)

    @property
    def ends(self) -> list[UtteranceEnd]:
        return [item for item in self.down if isinstance(item, UtteranceEnd)]

    @property
    def texts(self) -> list[Transcript]:
        return [item for item in self.down if isinstance(item, Transcript)]

    @property
    def finals(self) -> list[Transcript]:
        return [text for text in self.texts if text.kind == "final"]

    @property
    def marks(self) -> list[Committed]:
        return [item for item in self.down if isinstance(item, Committed)]

    def numbers(self) -> list[int]:
        """Numbers of all numbered entries, which must run from 0 without a hole."""
        numbered = (AudioFrame, Transcript, UtteranceEnd, StreamEnd)
        return [item.seq or 0 for item in self.down if isinstance(item, numbered)]


def small_bus(log_bytes: int) -> MemoryBus:
    return MemoryBus(bounds=Bounds(log_bytes=log_bytes))
