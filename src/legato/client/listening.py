"""Recognition and echo from the client's side: audio goes up, text or audio comes down."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from legato.audio import AudioChunk
from legato.client.channel import Channel
from legato.client.encoding import coder_for
from legato.client.exchange import Exchange, Opener
from legato.client.sources import AudioSource, Recording
from legato.client.speech import audio_chunk
from legato.protocol.messages import Transcript as TranscriptMessage
from legato.protocol.payloads import DEFAULT_BITRATE
from legato.session.lane import Item
from legato.speech import Transcript, Word


@dataclass(slots=True)
class ListeningStats:
    """What was measured of one recognition.

    Attributes:
        first_partial: Seconds from the first sample sent to the first text, or None.
        final_latency: Seconds from the last sample sent to the last final, or None.
        audio: Seconds of audio sent.
    """

    first_partial: float | None = None
    final_latency: float | None = None
    audio: float = 0.0


class Upload:
    """Sends audio of any kind in frames of one size (R4).

    Args:
        audio: Where it comes from.

    Attributes:
        audio_sent: Seconds of audio sent.
        began_at: When the first frame went, monotonic seconds, or None.
        ended_at: When the last one had gone, or None.
        warning: What was wrong with a file that could be read in part.
    """

    def __init__(self, audio: AudioSource) -> None:
        self._audio = audio
        self._sent_at = 0.0
        self.audio_sent = 0.0
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self.warning: str | None = None

    async def __call__(self, channel: Channel) -> None:
        """Send all of it."""
        stream = channel.stream
        recording = Recording(self._audio, stream.format)
        coder = coder_for(stream.payload, DEFAULT_BITRATE)
        async with aclosing(recording.pcm()) as runs:
            async for pcm in runs:
                async for frame in coder.push(pcm):
                    await self._send(channel, frame)
        for frame in await coder.finish():
            await self._send(channel, frame)
        self.warning = recording.warning
        self.ended_at = self._sent_at

    async def _send(self, channel: Channel, frame: bytes) -> None:
        await channel.send_audio(frame)
        self._sent_at = channel.now()
        if self.began_at is None:
            self.began_at = self._sent_at
        payload = channel.stream.payload
        self.audio_sent += payload.seconds(payload.samples_in(frame))


class Listening(Exchange[Transcript]):
    """Transcripts of one flow of audio, as they come; leaving the loop early stops it.

    An application that falls behind gets all finals, but of partials only the newest.

    Args:
        opener: Opens the stream.
        audio: What to listen to.
    """

    def __init__(self, opener: Opener, audio: AudioSource) -> None:
        self._upload = Upload(audio)
        super().__init__(opener, self._upload)
        self._first_partial: float | None = None
        self._final_latency: float | None = None

    @property
    def stats(self) -> ListeningStats:
        """What was measured so far."""
        return ListeningStats(self._first_partial, self._final_latency, self._upload.audio_sent)

    @property
    def warning(self) -> str | None:
        """At the end: what was wrong with a file that could be read in part."""
        return self._upload.warning

    def finalize(self) -> None:
        """End the utterance now: what was heard becomes final."""
        self._channel.finalize()

    def flush(self) -> None:
        """Make what was heard so far final; the utterance goes on."""
        self._channel.flush()

    def cancel(self) -> None:
        """Discard the audio since the last final; what follows is another utterance."""
        self._channel.cancel(self._channel.stream.utterance)

    def _take(self, item: Item) -> Transcript | None:
        if not isinstance(item, TranscriptMessage):
            return None
        self._measure(final=item.kind == "final", heard=bool(item.text))
        return transcript(item)

    def _measure(self, *, final: bool, heard: bool) -> None:
        now = self._loop.time()
        upload = self._upload
        if heard and self._first_partial is None and upload.began_at is not None:
            self._first_partial = now - upload.began_at
        if final and upload.ended_at is not None:
            self._final_latency = now - upload.ended_at


class Echo(Exchange[AudioChunk]):
    """Audio sent back as it came, for tests and benchmarks.

    Args:
        opener: Opens the stream.
        audio: What to send.
    """

    def __init__(self, opener: Opener, audio: AudioSource) -> None:
        super().__init__(opener, Upload(audio))

    def _take(self, item: Item) -> AudioChunk | None:
        return audio_chunk(self._channel, item)


def transcript(message: TranscriptMessage) -> Transcript:
    """Return what the application gets of a message."""
    return Transcript(
        text=message.text,
        final=message.kind == "final",
        start=message.start,
        end=message.end,
        words=tuple(
            Word(word.text, word.start, word.end, word.confidence) for word in message.words
        ),
        confidence=message.confidence,
        language=message.language,
        decoding_delay=message.decoding_delay,
        utterance=message.utterance,
    )
