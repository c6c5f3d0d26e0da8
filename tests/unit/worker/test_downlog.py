from collections.abc import Sequence

import pytest

from legato.audio import AudioFormat
from legato.bus.base import Committed, Item
from legato.errors import UnsupportedText
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Error, Notice, StreamEnd, Transcript, UtteranceEnd
from legato.worker.downlog import DownLog
from legato.worker.takeover import Standing

AUDIO = AudioFormat(16_000)
FRAME = 640


class FakeWriter:
    """A log writer that keeps the entries."""

    stored = 0

    def __init__(self) -> None:
        self.entries: list[tuple[Item, ...]] = []
        self.asked_for_room = 0

    def append(self, items: Sequence[Item]) -> None:
        self.entries.append(tuple(items))

    async def settle(self) -> None:
        return

    @property
    def has_room(self) -> bool:
        return True

    async def room(self) -> None:
        self.asked_for_room += 1

    @property
    def items(self) -> list[Item]:
        return [item for entry in self.entries for item in entry]


@pytest.fixture
def writer() -> FakeWriter:
    return FakeWriter()


def pen(writer: FakeWriter, standing: Standing | None = None) -> DownLog:
    return DownLog(writer, audio=AUDIO, frame_ms=20, standing=standing or Standing())


def test_audio_is_cut_into_whole_frames(writer: FakeWriter) -> None:
    down = pen(writer)
    down.audio(bytes(FRAME + 100))
    down.audio(bytes(FRAME - 100))
    down.write()
    assert writer.items == [
        AudioFrame(bytes(FRAME), 0, sample=0),
        AudioFrame(bytes(FRAME), 1, sample=320),
    ]


def test_an_entry_holds_a_tenth_of_a_second(writer: FakeWriter) -> None:
    down = pen(writer)
    down.audio(bytes(12 * FRAME))
    down.commit(Committed(0))
    down.write()
    assert [len(entry) for entry in writer.entries] == [5, 5, 3]
    assert writer.entries[-1][-1] == Committed(0)


def test_nothing_is_appended_when_nothing_is_there(writer: FakeWriter) -> None:
    pen(writer).write()
    assert writer.entries == []


def test_an_utterance_ends_with_its_rest_as_the_last_frame(writer: FakeWriter) -> None:
    down = pen(writer)
    down.audio(bytes(FRAME + 100))
    down.end_utterance()
    down.write()
    _, last, end = writer.items
    assert last == AudioFrame(bytes(100), 1, True, sample=320)
    assert end == UtteranceEnd(seq=2, utterance=0, reason="done", sample=370)
    assert (down.utterance, down.sample, down.seq) == (1, 370, 3)


def test_the_last_frame_may_be_empty(writer: FakeWriter) -> None:
    down = pen(writer)
    down.audio(bytes(FRAME))
    down.end_utterance()
    down.write()
    assert writer.items[1] == AudioFrame(b"", 1, True, sample=320)


def test_a_silent_utterance_has_no_frame(writer: FakeWriter) -> None:
    down = pen(writer)
    down.end_utterance()
    down.end_stream()
    down.write()
    assert writer.items == [
        UtteranceEnd(seq=0, utterance=0, reason="done"),
        StreamEnd(seq=1, frames=0, samples=0),
    ]


def test_a_cancelled_utterance_has_no_last_frame(writer: FakeWriter) -> None:
    down = pen(writer)
    down.audio(bytes(FRAME + 100))
    down.end_utterance("cancelled")
    down.audio(bytes(FRAME))
    down.write()
    assert writer.items == [
        AudioFrame(bytes(FRAME), 0, sample=0),
        UtteranceEnd(seq=1, utterance=0, reason="cancelled", sample=320),
        AudioFrame(bytes(FRAME), 2, sample=320, utterance=1),
    ]


def test_a_failed_utterance_says_why(writer: FakeWriter) -> None:
    down = pen(writer)
    down.end_utterance("failed", UnsupportedText("no such letter"))
    down.write()
    (end,) = writer.items
    assert isinstance(end, UtteranceEnd)
    assert (end.code, end.message) == ("unsupported_text", "no such letter")


def test_totals_count_frames_and_samples(writer: FakeWriter) -> None:
    down = pen(writer)
    for _ in range(2):
        down.audio(bytes(FRAME))
        down.end_utterance()
    down.end_stream()
    down.write()
    assert writer.items[-1] == StreamEnd(seq=6, frames=4, samples=640)


def test_texts_are_numbered_and_news_is_not(writer: FakeWriter) -> None:
    down = pen(writer)
    down.notice(Notice(kind="recovering"))
    down.transcript(Transcript(kind="final", text="a"))
    down.error(UnsupportedText("no", characters="é"))
    down.write()
    notice, text, error = writer.items
    assert isinstance(notice, Notice)
    assert isinstance(text, Transcript)
    assert text.seq == 0
    assert isinstance(error, Error)
    assert (error.code, error.characters) == ("unsupported_text", "é")


def test_another_worker_goes_on_where_the_log_ends(writer: FakeWriter) -> None:
    down = pen(writer, Standing(seq=7, sample=960, utterance=2, sounding=True))
    down.end_utterance()
    down.write()
    assert writer.items == [
        AudioFrame(b"", 7, True, sample=960, utterance=2),
        UtteranceEnd(seq=8, utterance=2, reason="done", sample=960),
    ]


def test_where_the_stream_stands_is_known_without_reading(writer: FakeWriter) -> None:
    standing = Standing()
    down = pen(writer, standing)
    down.audio(bytes(3 * FRAME))
    down.commit(Committed(5))
    assert standing == Standing()
    down.write()
    assert (standing.seq, standing.sample, standing.committed) == (3, 960, Committed(5))


async def test_room_is_the_logs(writer: FakeWriter) -> None:
    await pen(writer).room()
    assert writer.asked_for_room == 1


def test_a_stream_is_restored_with_the_first_output_after_its_recovery(writer: FakeWriter) -> None:
    down = pen(writer)
    down.recovering("the engine is being replaced", idle=False)
    assert [n.kind for n in writer.items if isinstance(n, Notice)] == ["recovering"]
    down.audio(bytes(FRAME))
    down.audio(bytes(FRAME))
    down.write()
    assert [type(item) for item in writer.items] == [Notice, Notice, AudioFrame, AudioFrame]
    assert [n.kind for n in writer.items if isinstance(n, Notice)] == ["recovering", "restored"]


def test_a_stream_that_owes_nothing_is_restored_at_once(writer: FakeWriter) -> None:
    pen(writer).recovering("another worker goes on", idle=True)
    assert [n.kind for n in writer.items if isinstance(n, Notice)] == ["recovering", "restored"]


def test_only_a_change_of_what_the_engine_gives_is_told(writer: FakeWriter) -> None:
    down = pen(writer)
    for active in (False, True, True, False, False):
        down.degraded(active)
    assert [n.kind for n in writer.items if isinstance(n, Notice)] == ["degraded", "restored"]
