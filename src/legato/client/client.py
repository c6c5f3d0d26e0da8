"""The client: `connect`, and what can be asked for."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self, Unpack

from legato.audio import Codec
from legato.client.catalog import Engine, fetch_engines, fetch_voices
from legato.client.channel import Channel
from legato.client.config import DEFAULT_URL, ClientConfig, ConnectOptions
from legato.client.conversation import Conversation
from legato.client.exchange import Opener
from legato.client.listening import Echo, Listening
from legato.client.own_voices import OwnVoices
from legato.client.pool import Pool
from legato.client.sources import AudioSource, TextSource, check_text
from legato.client.speech import Speech
from legato.protocol.messages import EndpointingSettings, StreamStart
from legato.speech import Endpointing, Voice


class Client:
    """Speaks to one server over a small pool of connections.

    Args:
        config: How to connect.

    Attributes:
        config: As given.
        own_voices: Voices that were brought to the server; see docs/voices.md.
    """

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self.own_voices = OwnVoices(config)
        self._pool = Pool(config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; streams under way fail."""
        await self._pool.close()

    def speak(
        self,
        text: TextSource,
        *,
        voice: str | None = None,
        engine: str | None = None,
        language: str | None = None,
        speed: float = 1.0,
        sample_rate: int = 24_000,
        channels: int = 1,
        codec: str = "pcm_s16le",
        streaming: bool = True,
        pace: float | None = None,
        stream_id: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Speech:
        """Have text spoken.

        Args:
            text: Whole, or piece by piece as it comes, for example from a language model; an
                ordinary iterable is read in a thread.
            voice: Name, or None for the engine's default.
            engine: Name, or None for the server's choice.
            language: BCP 47 tag.
            speed: Speaking rate, 0.5 to 2.0.
            sample_rate: Hz, 8,000 to 48,000.
            channels: 1 or 2.
            codec: Of the audio on the wire: `pcm_s16le`, `opus` (a tenth of the bytes), `mulaw` or
                `alaw`. What is returned is PCM in any case.
            streaming: False synthesizes all of it before the first sample comes.
            pace: How fast audio is sent, in multiples of real time, beyond 2 s ahead; None is
                the server's 1.5. For a file, ask for more.
            stream_id: Unique within the tenant, or None for a fresh one.
            options: Engine-specific.

        Returns:
            An async iterator of audio that raises `LegatoError` if the stream fails; leaving it
            early cancels.

        Raises:
            TypeError: If `text` is neither a string nor something that gives strings.
        """
        check_text(text)
        start = StreamStart(
            stream_id=stream_id or fresh_id(),
            task="synthesize",
            sample_rate=sample_rate,
            channels=channels,
            codec=codec,
            streaming=streaming,
            engine=engine,
            voice=voice,
            language=language,
            speed=speed,
            options=dict(options or {}),
        )
        return Speech(self._opener(start, pace), text)

    def voice(
        self,
        *,
        voice: str | None = None,
        engine: str | None = None,
        language: str | None = None,
        speed: float = 1.0,
        sample_rate: int = 24_000,
        channels: int = 1,
        codec: str = "pcm_s16le",
        pace: float | None = None,
        stream_id: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """Open a dialogue: several utterances on one stream, each of which can be cut short.

        The arguments are those of `speak`.

        Example:
            async with client.voice() as voice:
                greeting = voice.say("How can I help you?")
                async for chunk in greeting:
                    play(chunk.pcm)
        """
        start = StreamStart(
            stream_id=stream_id or fresh_id(),
            task="synthesize",
            sample_rate=sample_rate,
            channels=channels,
            codec=codec,
            engine=engine,
            voice=voice,
            language=language,
            speed=speed,
            options=dict(options or {}),
        )
        return Conversation(self._opener(start, pace))

    def listen(
        self,
        audio: AudioSource,
        *,
        engine: str | None = None,
        language: str | None = None,
        sample_rate: int = 16_000,
        channels: int = 1,
        codec: str = "pcm_s16le",
        frame_ms: int = 20,
        endpointing: Endpointing | None = None,
        hotwords: Sequence[str] = (),
        stream_id: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Listening:
        """Have audio written down.

        Args:
            audio: PCM s16le in the declared format, whole or as it comes; `AudioChunk` in any
                format; or the path, or binary stream, of a file of any kind. What does not match
                is resampled and mixed. An ordinary iterable is read in a thread.
            engine: Name, or None for the server's choice.
            language: BCP 47 tag, "auto" to have it found out, or None for the engine's default.
            sample_rate: Hz on the wire, 8,000 to 48,000.
            channels: Channels on the wire, 1 or 2.
            codec: On the wire: `pcm_s16le`, `opus`, `mulaw` or `alaw`. What is given is PCM, or a
                file of any kind, in any case.
            frame_ms: Milliseconds of audio in a message, 10 to 200; of Opus 10, 20, 40 or 60.
            endpointing: When text becomes final by itself.
            hotwords: Words to favour; refused where the engine cannot.
            stream_id: Unique within the tenant, or None for a fresh one.
            options: `punctuation` and `inverse_normalization` (numbers as figures), true or false,
                and those of the engine; what it does not have is refused.

        Returns:
            An async iterator of transcripts that raises `LegatoError` if the stream fails;
            leaving it early stops the recognition.
        """
        settings = None
        if endpointing is not None:
            settings = EndpointingSettings(
                silence=endpointing.silence, threshold=endpointing.threshold
            )
        start = StreamStart(
            stream_id=stream_id or fresh_id(),
            task="recognize",
            sample_rate=sample_rate,
            channels=channels,
            codec=codec,
            frame_ms=frame_ms,
            engine=engine,
            language=language,
            endpointing=settings,
            hotwords=list(hotwords),
            options=dict(options or {}),
        )
        return Listening(self._opener(start), audio)

    def echo(
        self,
        audio: AudioSource,
        *,
        sample_rate: int = 16_000,
        channels: int = 1,
        codec: str = "pcm_s16le",
        frame_ms: int = 20,
        pace: float | None = None,
        stream_id: str | None = None,
    ) -> Echo:
        """Have audio sent back as it came, for tests and benchmarks; see `listen`."""
        start = StreamStart(
            stream_id=stream_id or fresh_id(),
            task="echo",
            sample_rate=sample_rate,
            channels=channels,
            codec=codec,
            frame_ms=frame_ms,
        )
        return Echo(self._opener(start, pace), audio)

    async def engines(self) -> list[Engine]:
        """Return the server's engines, those that cannot be used included.

        Raises:
            ConnectionLost: If the server cannot be reached.
        """
        return await asyncio.to_thread(fetch_engines, self.config)

    async def voices(self) -> list[Voice]:
        """Return the voices that can be used now.

        Raises:
            ConnectionLost: If the server cannot be reached.
        """
        return await asyncio.to_thread(fetch_voices, self.config)

    def _opener(self, start: StreamStart, pace: float | None = None) -> Opener:
        async def open_stream() -> Channel:
            if start.codec == Codec.OPUS:
                await asyncio.to_thread(import_module, "legato.codecs.opus")  # loads FFmpeg
            channel = await self._pool.start(start)
            if pace is not None:
                channel.pace(pace)
            return channel

        return open_stream


def connect(url: str = DEFAULT_URL, **options: Unpack[ConnectOptions]) -> Client:
    """Make a client; connections are opened on first use.

    Args:
        url: `ws://` or `wss://` address of a server.
        options: `key`, where the server asks for one; `ca_file`, a PEM file with the authority
            that signed the server's certificate; `insecure`, to accept any certificate, for tests
            only; `pool_size`, connections at the most; `rate`, the pace of audio up in multiples
            of real time, and `burst`, the seconds of audio that may go at once then; `reconnect`,
            how a lost connection is sought again: `interactive` (the default), `articles` (1 s
            doubling to 60 s, ten times), a `flow.backoff.Profile`, or `never`.

    Example:
        async with legato.connect() as client:
            async for chunk in client.speak("Hello there."):
                play(chunk.pcm)
    """
    return Client(ClientConfig.of(url, **options))


def fresh_id() -> str:
    """Return a globally unique stream id (R11)."""
    return uuid.uuid4().hex
