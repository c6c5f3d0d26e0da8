"""Where audio goes: files and pipes are written by a thread, so that a slow one blocks nothing."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, ParamSpec, Self, TypeVar

from legato.audio import AudioChunk, AudioFormat
from legato.cli.pipes import STDOUT, CannotWrite, stdout

if TYPE_CHECKING:
    from legato.codecs.encoded import FileKind
    from legato.codecs.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")

DISCARD_TIMEOUT: Final = 2.0
"""Seconds to take back a file that was begun."""


class FileOutput:
    """A file or pipe.

    Use it by `async with`; a block left by an error leaves no file.

    Args:
        target: Path, or - for standard output.
        format: Of the audio.
        kind: Of the file; None for WAV.
    """

    def __init__(
        self,
        target: str,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        kind: FileKind | None = None,
    ) -> None:
        self._target = target
        self._format = format
        self._kind = kind
        self._thread = WriterThread()
        self._writer: Writer | None = None

    async def __aenter__(self) -> Self:
        try:
            if self._target == STDOUT:
                stdout()  # nothing is written before there is audio
            else:
                await self._open()
        except BaseException:
            await self._give_up()
            raise
        return self

    async def write(self, chunk: AudioChunk) -> None:
        """Append a chunk; waits for a slow reader.

        Raises:
            CannotWrite: If that fails.
            BrokenPipeError: If the reader has left.
        """
        writer = self._writer or await self._open()
        await self._do(writer.write, chunk.pcm)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            writer = self._writer or await self._open()
            await self._do(writer.close)
            self._thread.end()
        else:
            await self._give_up()

    async def _open(self) -> Writer:
        place: BinaryIO | Path = stdout() if self._target == STDOUT else Path(self._target)
        return await self._do(self._made, place)

    def _made(self, place: BinaryIO | Path) -> Writer:
        # Noted in the thread: whoever waits for it may be interrupted, and the file is there then.
        self._writer = _writer(self._kind, place, self._format)
        return self._writer

    async def _give_up(self) -> None:
        """Leave no file, behind whatever the thread is about."""
        if self._target != STDOUT:
            with contextlib.suppress(CannotWrite, TimeoutError):
                async with asyncio.timeout(DISCARD_TIMEOUT):
                    await self._do(self._discard)
        self._thread.end()

    def _discard(self) -> None:
        if self._writer is not None:
            self._writer.discard()

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._thread.do(lambda: work(*args, **kwargs))
        except BrokenPipeError:
            raise
        except OSError as error:
            place = "standard output" if self._target == STDOUT else self._target
            raise CannotWrite(f"{place} cannot be written: {error.strerror or error}") from error


def _writer(kind: FileKind | None, place: BinaryIO | Path, form: AudioFormat) -> Writer:
    if kind is None:
        from legato.codecs.wav import WavWriter

        return WavWriter(place, form)
    from legato.codecs.encoded import writer_for  # loads FFmpeg

    return writer_for(kind, place, form)


class WriterThread:
    """Does one piece of blocking work after the other.

    A daemon: work that blocks for ever, as a write to a pipe that nobody reads, keeps no program
    from ending.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="legato-writer", daemon=True).start()

    async def do(self, work: Callable[[], T]) -> T:
        """Do `work` in the thread and return what it returns."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._work.put(lambda: self._settle(done, work))
        return await done

    def end(self) -> None:
        """Let the thread end after what it has to do."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _settle(self, done: asyncio.Future[T], work: Callable[[], T]) -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  (it is raised where it is waited for)
            self._tell(_fail, done, error)
        else:
            self._tell(_succeed, done, result)

    def _tell(self, say: Callable[..., None], *what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(say, *what)


def _succeed(done: asyncio.Future[T], result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
