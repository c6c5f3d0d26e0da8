"""Synthesis from the client's side: text goes up, audio comes down."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from legato.audio import AudioChunk
from legato.client.channel import Channel
from legato.client.exchange import Exchange, Opener
from legato.client.sources import TextSource, pieces
from legato.protocol.media import AudioFrame
from legato.session.lane import Item


@dataclass(slots=True)
class SpeechStats:
    """What was measured of one synthesis.

    Attributes:
        first_audio: Seconds from the call to the first sample, or None before it.
        audio: Seconds of audio received.
        stalls: Times that a listener who starts at the first sample would have run dry.
    """

    first_audio: float | None = None
    audio: float = 0.0
    stalls: int = 0


class Speech(Exchange[AudioChunk]):
    """Audio of one text, as it comes; leaving the loop early cancels the synthesis.

    Args:
        opener: Opens the stream.
        text: What to speak.

    Attributes:
        stats: What was measured.
    """

    def __init__(self, opener: Opener, text: TextSource) -> None:
        super().__init__(opener, partial(send_text, text))
        self._dry_at = 0.0
        self.stats = SpeechStats()

    def flush(self) -> None:
        """Have the text so far spoken, though its sentence may go on."""
        self._channel.flush()

    def finalize(self) -> None:
        """End the utterance; the text that follows is another, with a limit of its own."""
        self._channel.finalize()

    def played(self, upto: float) -> None:
        """Note that the listener heard `upto` seconds; the server knows what was said."""
        self._channel.played(self._channel.stream.format.samples(upto))

    async def cancel(self) -> None:
        """Stop: no chunk is returned after this call."""
        await self.aclose()

    def _take(self, item: Item) -> AudioChunk | None:
        chunk = audio_chunk(self._channel, item)
        if chunk is not None:
            self._measure(chunk.duration)
        return chunk

    def _measure(self, duration: float) -> None:
        now = self._loop.time()
        stats = self.stats
        if stats.first_audio is None:
            stats.first_audio = now - self._asked_at
            self._dry_at = now
        elif now > self._dry_at:
            stats.stalls += 1
            self._dry_at = now
        self._dry_at += duration
        stats.audio += duration


def audio_chunk(channel: Channel, item: Item) -> AudioChunk | None:
    """Return the samples of an entry, which count as taken from here on; None if it has none."""
    if not isinstance(item, AudioFrame) or not item.payload:
        return None
    chunk = AudioChunk(item.payload, channel.stream.format, item.sample, item.utterance)
    channel.consumed(item.sample + chunk.samples)
    return chunk


async def send_text(text: TextSource, channel: Channel) -> None:
    """Send a text as it comes."""
    async with aclosing(pieces(text)) as source:
        async for piece in source:
            await channel.send_text(piece)
