"""The client for ordinary scripts: the same, without `async`; its event loop runs in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, Unpack

from legato.audio import AudioChunk
from legato.client.catalog import Engine
from legato.client.client import Client
from legato.client.config import DEFAULT_URL, ClientConfig, ConnectOptions
from legato.client.exchange import Exchange
from legato.client.listening import Listening, ListeningStats
from legato.client.options import EchoOptions, ListenOptions, SpeakOptions
from legato.client.sources import AudioSource, TextSource
from legato.client.speech import Speech, SpeechStats
from legato.errors import ConnectionLost
from legato.speech import Transcript, Voice

T = TypeVar("T")

_END: Final = object()


class SyncStream(Iterator[T], Generic[T]):
    """An iterator over what one stream brings; leaving it early ends the stream.

    Args:
        thread: Where the client's loop runs.
        make: Makes the exchange, in that loop.
    """

    def __init__(self, thread: LoopThread, make: Callable[[], Exchange[T]]) -> None:
        self._thread = thread
        self._exchange = thread.run(_made(make))

    def __next__(self) -> T:
        """Return the next item.

        Raises:
            LegatoError: If the stream failed, or the server cannot be reached.
            StopIteration: At the end.
        """
        try:
            item: Any = self._thread.run(_next(self._exchange))
        except KeyboardInterrupt:
            self.close()
            raise
        if item is _END:
            raise StopIteration
        taken: T = item
        return taken

    def close(self) -> None:
        """End the stream, here and on the server."""
        self._thread.run(self._exchange.aclose())

    @property
    def intact(self) -> bool:
        """At the end: whether the digest over what came is the one that the server sent."""
        return self._exchange.intact

    @property
    def resumes(self) -> int:
        """How often the stream went on over another connection after it had lost its own."""
        return self._exchange.resumes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class SyncSpeech(SyncStream[AudioChunk]):
    """Audio of one text, as it comes."""

    _exchange: Speech

    @property
    def stats(self) -> SpeechStats:
        """What was measured."""
        return self._exchange.stats


class SyncListening(SyncStream[Transcript]):
    """Transcripts of one flow of audio, as they come."""

    _exchange: Listening

    @property
    def stats(self) -> ListeningStats:
        """What was measured."""
        return self._exchange.stats

    @property
    def warning(self) -> str | None:
        """At the end: what was wrong with a file that could be read in part."""
        return self._exchange.warning

    def finalize(self) -> None:
        """End the utterance now: what was heard becomes final."""
        self._thread.call(self._exchange.finalize)

    def flush(self) -> None:
        """Make what was heard so far final; the utterance goes on."""
        self._thread.call(self._exchange.flush)


class SyncClient:
    """`Client` without `async`; close it, or use it by `with`.

    Args:
        config: How to connect.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._thread = LoopThread()
        self._client = self._thread.run(_made(lambda: Client(config)))

    def speak(self, text: TextSource, **options: Unpack[SpeakOptions]) -> SyncSpeech:
        """Have text spoken; see `Client.speak`. An iterable of pieces is read in a thread."""
        return SyncSpeech(self._thread, lambda: self._client.speak(text, **options))

    def listen(self, audio: AudioSource, **options: Unpack[ListenOptions]) -> SyncListening:
        """Have audio written down; see `Client.listen`. An iterable is read in a thread."""
        return SyncListening(self._thread, lambda: self._client.listen(audio, **options))

    def echo(self, audio: AudioSource, **options: Unpack[EchoOptions]) -> SyncStream[AudioChunk]:
        """Have audio sent back; see `Client.echo`."""
        return SyncStream(self._thread, lambda: self._client.echo(audio, **options))

    def engines(self) -> list[Engine]:
        """Return the server's engines; see `Client.engines`."""
        return self._thread.run(self._client.engines())

    def voices(self) -> list[Voice]:
        """Return the server's voices; see `Client.voices`."""
        return self._thread.run(self._client.voices())

    def close(self) -> None:
        """Close all connections and end the thread; streams under way fail."""
        self._thread.close(self._client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class LoopThread:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="legato-client", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and return what it returns.

        Raises:
            ConnectionLost: If the loop was closed.
        """
        if self._loop.is_closed():
            work.close()
            raise ConnectionLost("the client is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the loop and wait until it is done."""
        self.run(_made(function))

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do one last thing, then end the loop and its thread."""
        if self._loop.is_closed():
            return
        try:
            self.run(last())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def connect_sync(url: str = DEFAULT_URL, **options: Unpack[ConnectOptions]) -> SyncClient:
    """Make a client for a script without `async`; see `connect` for the options.

    Example:
        with legato.connect_sync() as client:
            for chunk in client.speak("Hello there."):
                play(chunk.pcm)
    """
    return SyncClient(ClientConfig.of(url, **options))


async def _made(make: Callable[[], T]) -> T:
    return make()


async def _next(exchange: Exchange[Any]) -> object:
    return await anext(exchange, _END)
