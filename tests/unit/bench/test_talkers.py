from collections.abc import AsyncIterator, Callable
from time import perf_counter

from legato.bench.clips import SAMPLE_RATE
from legato.bench.talkers import FRAME_BYTES, Talker
from legato.client.client import Client
from legato.client.config import ClientConfig
from legato.errors import Overloaded
from legato.protocol.messages import Notice
from legato.speech import Transcript


class FakeListening:
    """Says what it got at the end, after a notice."""

    def __init__(self, frames: AsyncIterator[bytes], fault: Exception | None) -> None:
        self._frames = frames
        self._fault = fault
        self.on_notice: Callable[[Notice], None] | None = None

    async def __aiter__(self) -> AsyncIterator[Transcript]:
        size_bytes = 0
        async for frame in self._frames:
            assert len(frame) == FRAME_BYTES
            size_bytes += len(frame)
        assert self.on_notice is not None
        self.on_notice(Notice(kind="degraded"))
        yield Transcript(text="partial", final=False)
        if self._fault is not None:
            raise self._fault
        yield Transcript(text="final", final=True, start=1, end=size_bytes // 2)


class FakeClient(Client):
    def __init__(self, fault: Exception | None = None) -> None:
        super().__init__(ClientConfig())
        self._broken = fault

    def listen(self, audio: object, **_options: object) -> FakeListening:  # type: ignore[override]  # a fake
        assert isinstance(audio, AsyncIterator)
        return FakeListening(audio, self._broken)


PCM = bytes(FRAME_BYTES * 3)


async def test_a_talker_speaks_in_time_and_notes_what_comes() -> None:
    due = perf_counter() + 0.01
    notes = await Talker(FakeClient(), PCM, due, 0.5).run()
    assert [(line.text, line.final) for line in notes.lines] == [
        ("partial", False),
        ("final", True),
    ]
    assert notes.lines[1].end == len(PCM) // 2
    assert notes.lines[1].at >= len(PCM) / 2 / SAMPLE_RATE
    assert (notes.notices, notes.fault) == (["degraded"], "")


async def test_a_stream_that_fails_is_told() -> None:
    notes = await Talker(FakeClient(Overloaded("busy")), PCM, perf_counter(), 0.5).run()
    assert [line.text for line in notes.lines] == ["partial"]
    assert notes.fault == "overloaded: busy"
