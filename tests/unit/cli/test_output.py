import asyncio
import os
import threading
import wave
from pathlib import Path

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.cli.output import FileOutput, WriterThread
from legato.cli.pipes import CannotWrite
from tests.unit.client.fakes import first

FORMAT = AudioFormat(8_000)
CHUNK = AudioChunk(b"\1\0" * 160, FORMAT)


async def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    async with FileOutput(str(path), FORMAT) as output:
        await output.write(CHUNK)
        assert not path.exists()

    with wave.open(str(path)) as file:
        assert file.readframes(1_000) == CHUNK.pcm


async def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    output = FileOutput(str(tmp_path / "x.wav"), FORMAT)
    await output.__aenter__()
    await output.write(CHUNK)

    await output.__aexit__(KeyError, KeyError(), None)

    assert os.listdir(tmp_path) == []  # noqa: PTH208  (in a loop, where Path is not to be used)


async def test_a_file_whose_opening_is_interrupted_is_not_left(tmp_path: Path) -> None:
    opening = await first(FileOutput(str(tmp_path / "x.wav"), FORMAT).__aenter__())
    assert not opening.done()
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening

    assert os.listdir(tmp_path) == []  # noqa: PTH208  (in a loop, where Path is not to be used)


@pytest.mark.parametrize(
    ("name", "cause"), [("no/such/x.wav", "No such file or directory"), (".", "Is a directory")]
)
async def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, name: str, cause: str
) -> None:
    with pytest.raises(CannotWrite, match=cause) as caught:
        await FileOutput(str(tmp_path / name), FORMAT).__aenter__()

    assert str(tmp_path) in caught.value.message


async def test_a_thread_does_one_thing_after_the_other() -> None:
    thread = WriterThread()
    done: list[int] = []

    await asyncio.gather(*(thread.do(lambda n=n: done.append(n)) for n in range(20)))  # type: ignore[misc]  # bound early
    with pytest.raises(ZeroDivisionError):
        await thread.do(lambda: 1 // 0)
    thread.end()

    assert done == list(range(20))


async def test_blocked_work_blocks_nobody_and_may_be_abandoned() -> None:
    thread, go_on = WriterThread(), threading.Event()
    waiting = await first(thread.do(lambda: go_on.wait(10)))
    assert not waiting.done()

    waiting.cancel()
    go_on.set()

    assert await thread.do(lambda: "next") == "next"
    thread.end()
