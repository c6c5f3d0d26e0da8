"""What all streams share: opened on first use, fed by a task, ended at once when left early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from legato.client.channel import Channel
from legato.errors import BadAudio, Internal, LegatoError
from legato.protocol.faults import from_wire
from legato.protocol.messages import Notice, UtteranceEnd
from legato.session.lane import Item

T = TypeVar("T")

Opener = Callable[[], Awaitable[Channel]]
"""Opens the stream."""

Feeder = Callable[[Channel], Awaitable[None]]
"""Sends the input of a stream, to its end."""


class Exchange(AsyncIterator[T], Generic[T]):
    """An async iterator over what one stream brings; leaving it early ends the stream.

    The stream is opened when the first item is asked for, or by `async with`. Closing it
    (`aclose`, the end of `async with`, or letting go of it) ends the work on the server too.

    Args:
        opener: Opens the stream.
        feeder: Sends its input; must not refer to the exchange, which could then not be let go.

    Attributes:
        on_notice: Called with news of the stream, such as `queued`, `recovering` and `restored`;
            set it before the first item is asked for.
    """

    def __init__(self, opener: Opener, feeder: Feeder) -> None:
        self._opener = opener
        self._send = feeder
        self._loop = asyncio.get_running_loop()
        self._asked_at = self._loop.time()
        self._stream: Channel | None = None
        self._feeder: asyncio.Task[None] | None = None
        self._over = False
        self.on_notice: Callable[[Notice], None] | None = None

    @property
    def intact(self) -> bool:
        """At the end: whether the digest over what came is the one that the server sent."""
        return self._stream is not None and self._stream.end is not None and self._stream.intact

    @property
    def resumes(self) -> int:
        """How often the stream went on over another connection after it had lost its own."""
        return 0 if self._stream is None else self._stream.resumes

    @property
    def engine(self) -> str | None:
        """Name of the engine that the server chose; None before it answered."""
        started = self._stream.started if self._stream is not None else None
        return started.engine or None if started is not None else None

    @property
    def voice(self) -> str | None:
        """Name of the voice that the server chose, for synthesis; None before it answered."""
        started = self._stream.started if self._stream is not None else None
        return started.voice if started is not None else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        """Return the next item.

        Raises:
            BadAudio: At the end, if what came is not what the server sent.
            LegatoError: If the stream failed, or the server cannot be reached.
            StopAsyncIteration: At the end.
        """
        if self._over:
            raise StopAsyncIteration
        channel = await self._open()
        try:
            while (item := await channel.receive_item()) is not None:
                if isinstance(item, UtteranceEnd) and item.reason == "failed":
                    raise utterance_fault(item)
                taken = self._take(item)
                if taken is not None:
                    return taken
        except LegatoError:
            await self.aclose()
            raise
        self._over = True
        if self._feeder is not None:
            await self._feeder  # raises what the source of the input raised
        check_intact(channel)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the stream, here and on the server."""
        self._over = True
        if self._stream is not None:
            self._stream.stop()
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.gather(self._feeder, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # The collector may run in any thread.
        if self._stream is not None and not self._over and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_let_go, self._stream, self._feeder)

    def _take(self, item: Item) -> T | None:
        """Return what the application gets of an entry, or None for nothing."""
        raise NotImplementedError

    @property
    def _channel(self) -> Channel:
        if self._stream is None:
            raise RuntimeError("the stream is not open yet: iterate, or use `async with`")
        return self._stream

    async def _open(self) -> Channel:
        if self._stream is None:
            self._stream = await self._opener()
            self._stream.on_notice = self.on_notice
            self._feeder = self._loop.create_task(feed(self._send, self._stream))
        return self._stream


async def feed(feeder: Feeder, channel: Channel) -> None:
    """Send input as it comes, then end it; a source that fails stops the stream."""
    try:
        await feeder(channel)
    except LegatoError as error:
        if not channel.failed:  # else whoever reads the stream is told already
            channel.fail(error)
            channel.stop()
        return
    except Exception:
        channel.stop()
        raise
    channel.finalize()
    channel.finish()


def check_intact(channel: Channel) -> None:
    """Check the digest of a stream that is over.

    Raises:
        BadAudio: If what came is not what the server sent.
    """
    if not channel.intact:
        raise BadAudio("what came is not what the server sent (digests differ); try again")


def utterance_fault(end: UtteranceEnd) -> LegatoError:
    """Return the error with which an utterance ended."""
    return from_wire(end.code or Internal.code, end.message or "")


def _let_go(channel: Channel, feeder: asyncio.Task[None] | None) -> None:
    channel.stop()
    if feeder is not None:
        feeder.cancel()
