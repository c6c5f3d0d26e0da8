"""What an application hands in, text or audio of any kind, as the pieces that a stream takes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from legato.audio import AudioChunk, AudioFormat
from legato.client.pump import Pump

if TYPE_CHECKING:
    from legato.codecs.resample import Resampler

TextSource = str | Iterable[str] | AsyncIterable[str]
"""A text, or its pieces as they come."""

TEXT_TYPES: Final = "a str, or an iterable or async iterable of str"

AudioSource = (
    bytes
    | str
    | os.PathLike[str]
    | BinaryIO
    | Iterable[bytes | AudioChunk]
    | AsyncIterable[bytes | AudioChunk]
)
"""PCM in the stream's format, `AudioChunk` in any, or the path or stream of a file of any kind."""


def check_text(text: object) -> None:
    """Check that this can be a text, before anything is asked for.

    Raises:
        TypeError: If it is neither a string nor something that gives strings.
    """
    if isinstance(text, bytes | bytearray | memoryview) or not isinstance(
        text, str | Iterable | AsyncIterable
    ):
        raise TypeError(f"text must be {TEXT_TYPES}, not {type(text).__name__}")


async def pieces(text: TextSource) -> AsyncGenerator[str, None]:
    """Yield a text piece by piece; an iterable that blocks does so in a thread.

    Raises:
        TypeError: If a piece is no string.
    """
    if isinstance(text, str):
        yield text
    elif isinstance(text, AsyncIterable):
        async for piece in text:
            yield _string(piece)
    else:
        async with aclosing(Pump(text)) as pump:
            async for piece in pump:
                yield _string(piece)


def _string(piece: object) -> str:
    if not isinstance(piece, str):
        raise TypeError(f"text must be {TEXT_TYPES}; one of it is {type(piece).__name__}")
    return piece


class Recording:
    """Any audio as PCM of one format (R12).

    Args:
        audio: Where it comes from.
        format: Wanted; what does not match is resampled and mixed.

    Attributes:
        warning: What was wrong with a file that could be read in part; known at its end.
    """

    def __init__(
        self,
        audio: AudioSource,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    ) -> None:
        self._audio = audio
        self._format = format
        self._resampler: Resampler | None = None
        self.warning: str | None = None

    async def pcm(self) -> AsyncGenerator[bytes, None]:
        """Yield the samples in runs of any length.

        Raises:
            BadAudio: If a file cannot be read.
        """
        if isinstance(self._audio, bytes | bytearray | memoryview):
            yield bytes(self._audio)
            return
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                yield chunk if isinstance(chunk, bytes) else await self._converted(chunk)
        if self._resampler is not None:
            yield self._resampler.flush()

    async def _chunks(self) -> AsyncGenerator[bytes | AudioChunk, None]:
        audio = self._audio
        if isinstance(audio, AsyncIterable):
            async for chunk in audio:
                yield chunk
            return
        blocking: Iterable[bytes | AudioChunk]
        if isinstance(audio, str | os.PathLike) or hasattr(audio, "read"):
            blocking = self._decode(cast("str | os.PathLike[str] | BinaryIO", audio))
        else:
            blocking = cast("Iterable[bytes | AudioChunk]", audio)
        async with aclosing(Pump(blocking)) as pump:
            async for chunk in pump:
                yield chunk

    def _decode(self, source: str | os.PathLike[str] | BinaryIO) -> Iterator[AudioChunk]:
        from legato.codecs.files import decode  # loads FFmpeg

        with decode(source, self._format) as decoding:
            yield from decoding
            self.warning = decoding.warning

    async def _converted(self, chunk: AudioChunk) -> bytes:
        if chunk.format == self._format:
            return self._flushed() + chunk.pcm
        before = b""
        if self._resampler is None or self._resampler.source != chunk.format:
            before = self._flushed()
            self._resampler = await asyncio.to_thread(resampler, chunk.format, self._format)
        return before + self._resampler.push(chunk.pcm)

    def _flushed(self) -> bytes:
        if self._resampler is None:
            return b""
        rest, self._resampler = self._resampler.flush(), None
        return rest


def resampler(source: AudioFormat, target: AudioFormat) -> Resampler:
    """Return a converter between two formats; loads FFmpeg."""
    from legato.codecs.resample import Resampler

    return Resampler(source, target)
