import time
from collections.abc import Sequence

import pytest

from legato.bus.base import Committed, Direction, Entry, Item, Restart, StreamKey
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.logs import MemoryLogs
from legato.errors import ResumeGap, SessionExpired
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Continuation,
    Error,
    Notice,
    StreamEnd,
    StreamStart,
    Transcript,
    UtteranceEnd,
)
from legato.worker.takeover import Standing, first_standing, read_standing

KEY = StreamKey("default", "s")
MARK = Committed(4, upto=9, chars=3, restart=Restart(2, 1, 3, 50))


def after(*items: Item) -> Standing:
    standing = Standing()
    for item in items:
        standing.note(item, 2)
    return standing


def test_a_fresh_stream_begins_at_nought() -> None:
    assert after() == Standing()
    assert Standing().first_seq == 0


def test_a_frame_moves_number_and_position() -> None:
    standing = after(AudioFrame(bytes(640), 5, sample=100, utterance=2))
    assert (standing.seq, standing.sample, standing.utterance) == (6, 420, 2)
    assert (standing.sounding, standing.samples_since, standing.entries_since) == (True, 320, 1)


def test_the_end_of_an_utterance_opens_the_next() -> None:
    standing = after(
        AudioFrame(bytes(2), 0), UtteranceEnd(seq=1, utterance=0, reason="done", sample=1)
    )
    assert (standing.seq, standing.utterance, standing.sounding) == (2, 1, False)


def test_a_text_moves_the_number() -> None:
    assert after(Transcript(seq=3, kind="final", text="a")).seq == 4


def test_a_mark_starts_the_counts_anew() -> None:
    standing = after(AudioFrame(bytes(640), 0), MARK, AudioFrame(bytes(64), 1, sample=320))
    assert standing.committed is MARK
    assert (standing.samples_since, standing.entries_since) == (32, 1)
    assert standing.first_seq == 2


def test_without_a_restart_work_begins_behind_what_is_done() -> None:
    assert after(Committed(4)).first_seq == 5


@pytest.mark.parametrize("item", [StreamEnd(seq=1), Error(code="engine_failed")])
def test_after_the_last_word_there_is_nothing_to_do(item: Item) -> None:
    assert after(item).over


def test_news_changes_nothing() -> None:
    assert after(Notice(kind="recovering")) == Standing()


async def test_a_long_log_is_read_to_its_end() -> None:
    bus = MemoryBus()
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, Direction.DOWN, fence=1)
    for seq in range(1_500):
        writer.append([AudioFrame(bytes(2), seq, sample=seq)])
    standing = await read_standing(bus.logs, KEY, 2)
    assert (standing.seq, standing.sample) == (1_500, 1_500)


async def test_a_trimmed_log_is_read_from_what_is_kept() -> None:
    bus = MemoryBus()
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, Direction.DOWN, fence=1)
    for seq in range(10):
        writer.append([AudioFrame(bytes(2), seq, sample=seq), Committed(seq)])
    await bus.logs.trim(KEY, Direction.DOWN, upto=9)
    standing = await read_standing(bus.logs, KEY, 2)
    assert (standing.seq, standing.committed.seq) == (10, 9)


async def test_a_log_trimmed_beyond_its_last_mark_cannot_be_taken_over() -> None:
    bus = MemoryBus()
    await bus.logs.create(KEY, ttl=60)
    writer = bus.logs.writer(KEY, Direction.DOWN, fence=1)
    writer.append([AudioFrame(bytes(2), 0), Committed(0)])
    writer.append([AudioFrame(bytes(2), 1, sample=1)])
    await bus.logs.trim(KEY, Direction.DOWN, upto=1)
    with pytest.raises(ResumeGap, match="beyond its last mark"):
        await read_standing(bus.logs, KEY, 2)


async def test_a_log_that_is_gone_is_told() -> None:
    with pytest.raises(SessionExpired):
        await read_standing(MemoryBus().logs, KEY, 2)


class TrimmingLogs(MemoryLogs):
    """Logs that a gateway trims while they are read."""

    def __init__(self) -> None:
        super().__init__(Alarm(time.monotonic, lambda: None), Bounds())
        self.trims = [5, 9]

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        if self.trims:
            await self.trim(key, direction, upto=self.trims.pop(0))
        return await super().read(key, direction, after=after, limit=limit)


async def test_a_log_that_is_trimmed_meanwhile_is_read_again() -> None:
    logs = TrimmingLogs()
    await logs.create(KEY, ttl=60)
    writer = logs.writer(KEY, Direction.DOWN, fence=1)
    for seq in range(10):
        writer.append([AudioFrame(bytes(2), seq, sample=seq), Committed(seq)])
    standing = await read_standing(logs, KEY, 2)
    assert (standing.seq, standing.committed.seq, logs.trims) == (10, 9, [])


# where a client goes on


def begun(task: str, *, speaking: bool = False, received_upto: int = 900) -> Standing:
    where = Continuation(
        epoch=1,
        utterance=2,
        speaking=speaking,
        sample=1_000,
        utterance_sample=600,
        received_upto=received_upto,
    )
    return first_standing(StreamStart(stream_id="s", task=task, continues=where))


@pytest.mark.parametrize("task", ["echo", "recognize", "synthesize"])
def test_a_stream_that_begins_stands_at_nought(task: str) -> None:
    assert first_standing(StreamStart(stream_id="s", task=task)) == Standing()


def test_a_synthesis_goes_on_behind_what_its_client_holds() -> None:
    mark = Committed(-1, restart=Restart(0, 2, samples=300))
    assert begun("synthesize") == Standing(sample=900, utterance=2, sounding=True, committed=mark)


def test_a_synthesis_of_which_nothing_was_heard_makes_it_whole() -> None:
    mark = Committed(-1, restart=Restart(0, 2))
    silent = Standing(sample=600, utterance=2, committed=mark)
    assert begun("synthesize", received_upto=600) == silent


def test_an_echo_goes_on_with_the_sample_that_is_said_again() -> None:
    standing = begun("echo", received_upto=1_000)
    assert standing.committed == Committed(-1, upto=1_000, restart=Restart(0, 2, samples=400))
    assert (standing.sample, standing.sounding, standing.first_seq) == (1_000, True, 0)


@pytest.mark.parametrize("speaking", [True, False])
def test_a_recognition_goes_on_at_its_position(speaking: bool) -> None:
    standing = begun("recognize", speaking=speaking, received_upto=0)
    restart = Restart(0, 2) if speaking else None
    assert standing.committed == Committed(-1, upto=1_000, restart=restart)
    assert (standing.utterance, standing.is_open) == (2, speaking)


async def test_where_nobody_has_worked_the_first_standing_holds() -> None:
    bus = MemoryBus()
    await bus.logs.create(KEY, ttl=600)
    standing = await read_standing(bus.logs, KEY, 2, first=lambda: begun("synthesize"))
    assert standing == begun("synthesize")
    writer = bus.logs.writer(KEY, Direction.DOWN)
    writer.append([AudioFrame(bytes(200), 0, sample=900, utterance=2), MARK])
    standing = await read_standing(bus.logs, KEY, 2, first=lambda: begun("synthesize"))
    assert (standing.seq, standing.sample, standing.committed) == (1, 1_000, MARK)
