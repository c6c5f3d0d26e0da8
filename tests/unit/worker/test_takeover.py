import time
from collections.abc import Sequence

import pytest

from legato.bus.base import Committed, Direction, Entry, Item, Restart, StreamKey
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.logs import MemoryLogs
from legato.errors import ResumeGap, SessionExpired
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Error, Notice, StreamEnd, Transcript, UtteranceEnd
from legato.worker.takeover import Standing, read_standing

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
