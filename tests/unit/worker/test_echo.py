import asyncio
from collections.abc import Callable, Sequence

import pytest

from legato.bus.base import Committed, Direction, Item
from legato.errors import Internal, SessionExpired, UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Continuation, StreamEnd
from legato.worker.echo import Echo
from legato.worker.takeover import Standing, first_standing, read_standing
from tests.unit.worker.stage import Stage, small_bus
from tests.unit.worker.test_downlog import FakeWriter


def echo(stage: Stage, standing: Standing | None = None, *, fence: int = 1) -> Echo:
    writer = stage.bus.logs.writer(stage.key, Direction.DOWN, fence=fence)
    return Echo(stage.job, logs=stage.bus.logs, writer=writer, standing=standing or Standing())


async def work(stage: Stage, say: Callable[[Stage], None]) -> Stage:
    say(stage)
    await asyncio.wait_for(echo(stage).run(), 20)
    await stage.over()
    assert stage.numbers() == list(range(len(stage.numbers())))
    return stage


class BrokenWriter(FakeWriter):
    """A writer with a bug."""

    def append(self, items: Sequence[Item]) -> None:
        raise ValueError(len(items))


def tones(stage: Stage, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        stage.audio(bytes([number % 256]) * 640)


async def test_every_frame_comes_back_as_it_came() -> None:
    stage = await Stage.open("echo")

    def say(stage: Stage) -> None:
        tones(stage, 25)
        stage.end()

    await work(stage, say)
    assert stage.frames == [AudioFrame(bytes([n]) * 640, n, sample=320 * n) for n in range(25)]
    assert [end.reason for end in stage.ends] == ["done"]
    assert stage.last_word == StreamEnd(seq=26, frames=25, samples=25 * 320)
    assert (stage.marks[-1].seq, stage.marks[-1].upto) == (25, 25 * 320)


async def test_marks_are_fewer_than_frames_but_not_late() -> None:
    stage = await Stage.open("echo")
    task = asyncio.create_task(echo(stage).run())
    for number in range(100):
        tones(stage, 1, number)
        await stage.until(lambda s, n=number: len(s.frames) > n)  # type: ignore[misc]  # keeps the loop's value
    await stage.until(lambda s: s.marks and s.marks[-1].seq == 99)
    assert len(stage.marks) == 10
    stage.end()
    await task


async def test_long_frames_are_marked_one_by_one() -> None:
    stage = await Stage.open("echo")
    task = asyncio.create_task(echo(stage).run())
    stage.audio(bytes(16_000))
    await stage.until(lambda s: s.marks)
    assert (stage.marks[0].seq, stage.marks[0].upto) == (0, 8_000)
    stage.end()
    await task


@pytest.mark.parametrize("by_flag", [True, False])
async def test_an_utterance_ends_by_finalize_or_by_its_last_frame(by_flag: bool) -> None:
    stage = await Stage.open("echo")

    def say(stage: Stage) -> None:
        stage.finalize()
        tones(stage, 2)
        if by_flag:
            stage.audio(b"", last=True)
        else:
            stage.finalize()
        tones(stage, 1)
        stage.end()

    await work(stage, say)
    assert [(end.utterance, end.reason) for end in stage.ends] == [(0, "done"), (1, "done")]
    assert [f.utterance for f in stage.frames if f.payload] == [0, 0, 1]


async def test_a_cancel_ends_the_open_utterance_only() -> None:
    stage = await Stage.open("echo")

    def say(stage: Stage) -> None:
        stage.cancel(0)
        tones(stage, 2)
        stage.cancel(0)
        stage.cancel(0)
        stage.flush()
        tones(stage, 1)
        stage.end()

    await work(stage, say)
    assert [(end.utterance, end.reason) for end in stage.ends] == [(0, "cancelled"), (1, "done")]


async def test_text_is_not_what_an_echo_takes() -> None:
    stage = await Stage.open("echo")
    stage.text("hello")
    with pytest.raises(UnexpectedMessage, match="takes audio"):
        await asyncio.wait_for(echo(stage).run(), 20)


async def test_a_stream_that_is_deleted_ends_the_job() -> None:
    stage = await Stage.open("echo")
    task = asyncio.create_task(echo(stage).run())
    tones(stage, 1)
    await stage.until(lambda s: s.frames)
    await stage.bus.logs.delete(stage.key)
    with pytest.raises(SessionExpired):
        await asyncio.wait_for(task, 20)


async def test_a_bug_ends_its_stream_only() -> None:
    stage = await Stage.open("echo")
    writer = BrokenWriter()
    job = Echo(stage.job, logs=stage.bus.logs, writer=writer, standing=Standing())
    tones(stage, 1)
    with pytest.raises(Internal):
        await asyncio.wait_for(job.run(), 20)


async def test_a_client_who_does_not_read_is_given_no_more_credit() -> None:
    stage = await Stage.open("echo", bus=small_bus(20_000))
    task = asyncio.create_task(echo(stage).run())
    tones(stage, 10)
    await stage.until(lambda s: s.marks)
    tones(stage, 15, 10)
    await stage.until(lambda s: len(s.frames) == 25)
    tones(stage, 10, 25)
    await stage.until(lambda s: len(s.frames) == 35)
    assert stage.marks[-1].seq == 24  # there was room when the frames up to there came
    await stage.bus.logs.trim(stage.key, Direction.DOWN, upto=2)
    await stage.until(lambda s: s.marks[-1].seq == 34)
    stage.end()
    await asyncio.wait_for(task, 20)


@pytest.mark.parametrize("frames", [1, 7, 12, 20, 23])
async def test_another_worker_goes_on_frame_for_frame(frames: int) -> None:
    whole = await Stage.open("echo")

    def say(stage: Stage, first: int, last: int) -> None:
        for number in range(first, last):
            tones(stage, 1, number)
            if number == 11:
                stage.finalize()
            if number == 19:
                stage.audio(b"", last=True)

    def say_all(stage: Stage) -> None:
        say(stage, 0, 24)
        stage.end()

    await work(whole, say_all)

    stage = await Stage.open("echo")
    task = asyncio.create_task(echo(stage).run())
    say(stage, 0, frames)
    await stage.until(lambda s: len(s.frames) >= frames)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    standing = await read_standing(stage.bus.logs, stage.key, 2)
    await stage.bus.logs.trim(stage.key, Direction.UP, upto=standing.committed.trim_seq + 1)
    say(stage, frames, 24)
    stage.end()
    await asyncio.wait_for(echo(stage, standing, fence=2).run(), 20)
    await stage.over()
    assert stage.frames == whole.frames
    assert stage.ends == whole.ends
    assert stage.last_word == whole.last_word


async def test_a_mark_is_in_the_entry_of_the_frame_that_makes_it_due() -> None:
    stage = await Stage.open("echo")
    task = asyncio.create_task(echo(stage).run())
    stage.audio(bytes(3_200))
    await stage.until(lambda s: len(s.frames) == 1)
    stage.audio(bytes(16_000))
    await stage.until(lambda s: s.marks)
    entries = await stage.bus.logs.read(stage.key, Direction.DOWN)
    kinds = [[type(item) for item in entry.items] for entry in entries]
    assert kinds == [[AudioFrame], [AudioFrame, Committed]]
    stage.end()
    await task


async def test_no_mark_is_made_before_all_that_is_written_is_made_again() -> None:
    stage = await Stage.open("echo")
    standing = Standing(seq=15, sample=15 * 320, entries_since=15, samples_since=15 * 320)
    task = asyncio.create_task(echo(stage, standing).run())
    tones(stage, 12)
    for _ in range(5):
        await asyncio.sleep(0)
    assert stage.down == []
    tones(stage, 5, 12)
    await stage.until(lambda s: s.marks)
    assert [frame.seq for frame in stage.frames] == [15, 16]
    assert [mark.seq for mark in stage.marks] == [16]
    stage.end()
    await task


@pytest.mark.parametrize("speaking", [True, False])
async def test_in_the_next_epoch_it_goes_on_where_the_client_says(speaking: bool) -> None:
    where = Continuation(
        epoch=1,
        utterance=2,
        speaking=speaking,
        sample=3_200,
        utterance_sample=1_600 if speaking else 3_200,
        received_upto=3_200,
    )
    stage = await Stage.open("echo", continues=where)
    stage.finalize()
    stage.audio(bytes(640))
    stage.end()
    await asyncio.wait_for(echo(stage, first_standing(stage.start)).run(), 20)
    await stage.over()
    first = 3 if speaking else 2
    assert [(f.sample, f.utterance) for f in stage.frames] == [(3_200, first)]
    assert [end.utterance for end in stage.ends] == ([2, 3] if speaking else [2])
    assert stage.marks[-1].upto == 3_520
    last = stage.last_word
    assert isinstance(last, StreamEnd)
    assert (last.samples, stage.numbers()) == (3_520, list(range(len(stage.numbers()))))
