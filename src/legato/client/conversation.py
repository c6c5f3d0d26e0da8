"""A dialogue: many utterances on one stream, each of which can be cut short."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Final, Literal, Self

from legato.audio import AudioChunk
from legato.client.channel import Channel
from legato.client.exchange import Opener, check_intact, utterance_fault
from legato.client.sources import TextSource, check_text, pieces
from legato.client.speech import audio_chunk
from legato.errors import RateLimited
from legato.protocol.messages import Notice, UtteranceEnd

MAX_WAITING: Final = 64
"""Utterances that may wait to be said."""

Reason = Literal["done", "cancelled", "failed"]


class Utterance(AsyncIterator[AudioChunk]):
    """One thing that is said: an async iterator over its audio, as it comes.

    Reading it skips what was not read of the utterances before it.

    Args:
        text: What to say.
        read: Returns the next chunk of an utterance, or None at its end.

    Attributes:
        number: As `AudioChunk.utterance` names it; None until its first text is sent.
        reason: Why it is over: `done`, `cancelled`, `failed`; None while it is not.
        fault: What it failed with.
    """

    def __init__(
        self, text: TextSource, read: Callable[[Utterance], Awaitable[AudioChunk | None]]
    ) -> None:
        self._text = text
        self._read = read
        self.number: int | None = None
        self.reason: Reason | None = None
        self.fault: Exception | None = None

    async def __anext__(self) -> AudioChunk:
        """Return the next chunk.

        Raises:
            LegatoError: If the utterance or the stream failed.
            StopAsyncIteration: At its end, and once it was cancelled.
        """
        chunk = await self._read(self)
        if chunk is not None:
            return chunk
        if self.fault is not None:
            raise self.fault
        raise StopAsyncIteration

    async def send(self, channel: Channel) -> None:
        """Send its text as it comes, to its end; `Conversation` does so when it is its turn."""
        async with aclosing(pieces(self._text)) as source:
            async for piece in source:
                if piece:
                    self.number = await channel.send_text(piece)
        channel.finalize()


class Conversation(AsyncIterator[AudioChunk]):
    """Says one thing after the other; iterate over it, or over what `say` returns, for the audio.

    Use it by `async with`: at the end of the block the stream ends, and what was not said is
    dropped. One task at a time reads it.

    Args:
        opener: Opens the stream.

    Attributes:
        on_notice: Called with news of the stream, such as `recovering` and `restored`; set it
            before the block begins.
    """

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self.on_notice: Callable[[Notice], None] | None = None
        self._stream: Channel | None = None
        self._pending: deque[Utterance] = deque()
        self._waiting: asyncio.Queue[Utterance | None] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None
        self._saying: tuple[Utterance, asyncio.Task[None]] | None = None
        self._reading = False

    async def __aenter__(self) -> Self:
        self._stream = await self._opener()
        self._stream.on_notice = self.on_notice
        self._sender = asyncio.get_running_loop().create_task(self._send_all(self._stream))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.stop()
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)

    @property
    def resumes(self) -> int:
        """How often the stream went on over another connection after it had lost its own."""
        return 0 if self._stream is None else self._stream.resumes

    # saying

    def say(self, text: TextSource) -> Utterance:
        """Say a text after all those before it.

        Args:
            text: Whole, or piece by piece as it comes.

        Returns:
            Its audio, and the handle for `cancel`.

        Raises:
            RateLimited: If 64 texts wait already.
            TypeError: If `text` is neither a string nor something that gives strings.
        """
        check_text(text)
        if self._waiting.qsize() >= MAX_WAITING:
            raise RateLimited(f"{MAX_WAITING} utterances wait to be said; read some first")
        utterance = Utterance(text, self._next)
        self._pending.append(utterance)
        self._waiting.put_nowait(utterance)
        return utterance

    def flush(self) -> None:
        """Have the text so far spoken, though its sentence may go on."""
        self._channel.flush()

    def finalize(self) -> None:
        """End the utterance that is being said: the rest of its text is not waited for."""
        if self._saying is not None:
            self._saying[1].cancel()
        self._channel.finalize()

    def cancel(self, utterance: Utterance | None = None) -> None:
        """Cut an utterance and those before it short: no sample of them comes after this call.

        Args:
            utterance: Which; None is the last one, and so all.
        """
        if utterance is not None and utterance not in self._pending:
            return
        last: int | None = None
        while self._pending:
            one = self._pending[0]
            last = last if one.number is None else one.number
            self._end(one, "cancelled")
            if one is utterance:
                break
        if last is not None:
            self._channel.cancel(last, played_upto=self._channel.stream.played_upto)

    def played(self, upto: int) -> None:
        """Note that the listener heard everything before sample `upto` of the stream."""
        self._channel.played(upto)

    def finish(self) -> None:
        """Say that no more text comes: iterating over it ends after what was said."""
        self._waiting.put_nowait(None)

    # hearing

    async def __anext__(self) -> AudioChunk:
        """Return the next chunk of any utterance.

        Raises:
            LegatoError: If the stream failed; or an utterance, and one may go on with the next.
            StopAsyncIteration: At the end, after `finish`.
        """
        chunk = await self._next(None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def _next(self, wanted: Utterance | None) -> AudioChunk | None:
        if self._reading:
            raise RuntimeError("another task reads this conversation")
        self._reading = True
        try:
            return await self._find(wanted, self._channel)
        finally:
            self._reading = False

    async def _find(self, wanted: Utterance | None, channel: Channel) -> AudioChunk | None:
        while wanted is None or wanted.reason is None:
            item = channel.take_item()
            if item is None:
                if channel.is_over():
                    check_intact(channel)
                    return None
                await channel.changed()
            elif isinstance(item, UtteranceEnd):
                self._note_end(item, raising=wanted is None)
            else:
                chunk = audio_chunk(channel, item)
                if chunk is not None and (wanted is None or chunk.utterance == wanted.number):
                    return chunk
        return None

    def _note_end(self, end: UtteranceEnd, *, raising: bool) -> None:
        fault = utterance_fault(end) if end.reason == "failed" else None
        for utterance in self._pending:
            if utterance.number == end.utterance:
                if self._saying is not None and self._saying[0] is utterance:
                    self._channel.finalize()
                self._end(utterance, end.reason, fault)
                break
        if raising and fault is not None:
            raise fault

    # details

    @property
    def _channel(self) -> Channel:
        if self._stream is None:
            raise RuntimeError("the conversation is not open: use `async with`")
        return self._stream

    def _end(self, utterance: Utterance, reason: Reason, fault: Exception | None = None) -> None:
        if self._saying is not None and self._saying[0] is utterance:
            self._saying[1].cancel()
        utterance.reason, utterance.fault = reason, fault
        self._pending.remove(utterance)

    async def _send_all(self, channel: Channel) -> None:
        while (utterance := await self._waiting.get()) is not None:
            if utterance.reason is not None:
                continue
            task = asyncio.get_running_loop().create_task(utterance.send(channel))
            self._saying = (utterance, task)
            try:
                await asyncio.wait({task})
            finally:
                task.cancel()
                self._saying = None
            self._note_sent(utterance, task, channel)
        channel.finish()

    def _note_sent(self, utterance: Utterance, task: asyncio.Task[None], channel: Channel) -> None:
        fault = None if task.cancelled() else task.exception()
        if utterance.reason is not None or channel.failed:
            return
        if isinstance(fault, Exception):
            if utterance.number is not None:
                channel.cancel(utterance.number)
            self._end(utterance, "failed", fault)
        elif utterance.number is None:
            self._end(utterance, "done")
        channel.nudge()
