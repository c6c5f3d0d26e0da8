"""One stream's two ends inside the client: what the application says, and what it is told."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from legato.audio import Codec
from legato.client.decoding import PacketDecoder, SampleDecoder, decoder_for
from legato.errors import LegatoError, TextTooLong, UnexpectedMessage
from legato.flow.pacing import TokenBucket
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Notice, StreamEnd, StreamStarted, Transcript
from legato.session.client_stream import ClientStream
from legato.session.lane import Item

QUEUED_ENTRIES: Final = 64
"""Entries waiting to be sent at which a producer must wait: 1.3 s of 20 ms frames."""

UNREAD_ENTRIES: Final = 4_096
"""Entries that the application has not read at which it may send no more audio."""


class Carrier(Protocol):
    """The connection that a channel is on."""

    def wake(self) -> None:
        """Something is to be sent."""

    def now(self) -> float:
        """Monotonic seconds."""

    def stop(self, channel: Channel) -> None:
        """End the stream and delete its data."""

    def pace(self, rate: float, channel: Channel) -> None:
        """Ask for a pace of audio."""


class Channel:
    """A stream as the rest of the client uses it.

    What arrives is bounded: audio by the credit that `consumed` gives, text by `UNREAD_ENTRIES`
    and by dropping a partial that a newer one has made worthless.

    Args:
        stream: The session's end.
        carrier: The connection.
        rate: Pace of audio up in multiples of real time, or None.
        burst: Seconds of audio that may go at once where `rate` is set.
        max_text_chars: Characters that the server takes in one utterance.

    Attributes:
        stream: The session's end.
        started: The server's answer to the start, once it came.
        end: The server's totals, once the stream is over.
        intact: Whether the digest over all that came is the server's.
        resumes: How often the stream went on over another socket.
        on_notice: Called with news of the stream.
    """

    def __init__(
        self,
        stream: ClientStream,
        carrier: Carrier,
        *,
        rate: float | None = None,
        burst: float = 2.0,
        max_text_chars: int = 20_000,
    ) -> None:
        self.stream = stream
        self.started: StreamStarted | None = None
        self.end: StreamEnd | None = None
        self.intact = True
        self.resumes = 0
        self.on_notice: Callable[[Notice], None] | None = None
        self._carrier = carrier
        self._bucket = None if rate is None else TokenBucket(rate, burst)
        self._max_text_chars = max_text_chars
        self._said = (0, 0)
        self._inbox: deque[Item] = deque()
        self._is_coded = stream.payload.codec is not Codec.PCM_S16LE
        self._decoder: SampleDecoder | PacketDecoder | None = None
        self._decoded: deque[Item] = deque()
        self._fault: LegatoError | None = None
        self._over = False
        self._recovering = False
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def failed(self) -> bool:
        """Whether the stream ended with a fault, or was stopped."""
        return self._over and self.end is None

    @property
    def resumable(self) -> bool:
        """Whether the stream can go on over another socket."""
        return not self.stream.raw and (self.started is None or self.started.resumable)

    # said by the application

    async def send_audio(self, payload: bytes) -> None:
        """Send one frame, waiting while too much is unsent or the pace forbids it.

        Raises:
            LegatoError: If the stream has failed.
        """
        await self._wait_for_room()
        if self._bucket is not None:
            await self._wait_for_pace(self._bucket, self.stream.samples_in(payload))
        self.stream.send_audio(payload)
        self._carrier.wake()

    async def send_text(self, text: str) -> int:
        """Send a piece of text, waiting while too much is unsent; return its utterance.

        Raises:
            TextTooLong: If the utterance gets longer than the server takes.
            LegatoError: If the stream has failed.
        """
        await self._wait_for_room()
        utterance, chars = self._said
        chars = len(text) + (chars if utterance == self.stream.utterance else 0)
        if chars > self._max_text_chars:
            raise TextTooLong(
                f"an utterance takes {self._max_text_chars} characters at most; say the rest in"
                " another"
            )
        utterance = self.stream.send_text(text)
        self._said = (utterance, chars)
        self._carrier.wake()
        return utterance

    def flush(self) -> None:
        """Have what is there spoken, or made final."""
        self.stream.flush()
        self._carrier.wake()

    def finalize(self) -> None:
        """End the utterance."""
        self.stream.finalize()
        self._carrier.wake()

    def finish(self) -> None:
        """Say that no more input comes."""
        self.stream.finish()
        self._carrier.wake()

    def cancel(self, utterance: int, *, played_upto: int | None = None) -> None:
        """Stop an utterance and those before it: nothing of them is delivered after this call."""
        if self._over:
            return
        self.stream.cancel(utterance, played_upto=played_upto)
        if self._decoder is not None:
            self._decoder.forget(utterance)
            self._drop_cancelled(self._decoded, self.stream.format.samples_in)
        self._drop_cancelled(self._inbox, self.stream.samples_in)
        self._arrived.set()
        self._room.set()
        self._carrier.wake()

    def _drop_cancelled(self, items: deque[Item], samples_in: Callable[[bytes], int]) -> None:
        kept: list[Item] = []
        for item in items:
            if self.stream.is_cancelled(item):
                assert isinstance(item, AudioFrame)  # noqa: S101  (narrows the type)
                end = item.sample + samples_in(item.payload)
                self.stream.consumed(end, self._carrier.now())
            else:
                kept.append(item)
        items.clear()
        items.extend(kept)

    def stop(self) -> None:
        """End the stream now and have its data deleted."""
        self._over = True
        self._inbox.clear()
        self._decoded.clear()
        self._carrier.stop(self)
        self._arrived.set()
        self._room.set()

    def pace(self, rate: float) -> None:
        """Ask the server to send at `rate` times real time; 0 pauses audio."""
        self._carrier.pace(rate, self)

    def consumed(self, upto: int) -> None:
        """Note that the application took everything before sample `upto`."""
        due = self.stream.ack_at
        self.stream.consumed(upto, self._carrier.now())
        if self.stream.ack_at < due:
            self._carrier.wake()

    def played(self, upto: int) -> None:
        """Note that the listener heard everything before sample `upto`."""
        self.stream.played(upto, self._carrier.now())
        self._carrier.wake()

    async def receive_item(self) -> Item | None:
        """Return the next entry, or None at the end of the stream.

        Raises:
            LegatoError: If the stream has failed, after all that came before was returned.
        """
        while (item := self.take_item()) is None and not self.is_over():
            await self.changed()
        return item

    def take_item(self) -> Item | None:
        """Return the next entry, its audio decoded; or None if none is here.

        Raises:
            BadAudio: If audio cannot be decoded.
        """
        if not self._is_coded:
            return self._take_arrived()
        if self._decoder is None:
            self._decoder = decoder_for(self.stream.payload)
        while not self._decoded:
            item = self._take_arrived()
            if item is None:
                return None
            self._decoded.extend(self._decoder.take(item))
        return self._decoded.popleft()

    def _take_arrived(self) -> Item | None:
        if not self._inbox:
            return None
        item = self._inbox.popleft()
        if len(self._inbox) == UNREAD_ENTRIES - 1:
            self._room.set()
        return item

    def is_over(self) -> bool:
        """Whether nothing comes any more beyond what is here.

        Raises:
            LegatoError: If the stream has failed.
        """
        if self._fault is not None:
            raise self._fault
        return self._over

    async def changed(self) -> None:
        """Wait until something arrives, the stream ends, or an utterance is cancelled."""
        self._arrived.clear()
        await self._arrived.wait()

    def nudge(self) -> None:
        """Have `changed` return."""
        self._arrived.set()

    def now(self) -> float:
        """Monotonic seconds."""
        return self._carrier.now()

    def _has_room(self) -> bool:
        return self.stream.out.queued < QUEUED_ENTRIES and len(self._inbox) < UNREAD_ENTRIES

    async def _wait_for_room(self) -> None:
        while not self._has_room() and not self._over:
            self._room.clear()
            await self._room.wait()
        if self._fault is not None:
            raise self._fault
        if self._over:
            raise UnexpectedMessage("the stream is over; start another for more input")

    async def _wait_for_pace(self, bucket: TokenBucket, samples: float) -> None:
        now = self._carrier.now()
        duration = min(samples / self.stream.format.sample_rate, bucket.burst)
        turn = bucket.ready_at(duration, now)
        bucket.spend(duration, turn)
        if turn > now:
            await asyncio.sleep(turn - now)

    # told by the connection

    def opened(self, started: StreamStarted) -> None:
        """The server runs the stream."""
        self.started = started
        if self._recovering:
            self.recovered()

    def receive(self, items: Sequence[Item]) -> None:
        """Entries arrived."""
        for item in items:
            if self._inbox and _replaces(item, self._inbox[-1]):
                self._inbox[-1] = item
            else:
                self._inbox.append(item)
        self._arrived.set()

    def progressed(self) -> None:
        """Entries left, or credit came."""
        if self._has_room():
            self._room.set()

    def recovering(self) -> None:
        """The socket is lost, and another one is sought."""
        if not self._recovering:
            self._recovering = True
            self.notice(Notice(stream=self.stream.number, kind="recovering"))

    def recovered(self) -> None:
        """The stream goes on over another socket; nothing is lost."""
        self.resumes += 1
        if self._recovering:
            self._recovering = False
            self.notice(Notice(stream=self.stream.number, kind="restored"))
        self.progressed()

    def notice(self, notice: Notice) -> None:
        """News of the stream."""
        if self.on_notice is not None:
            self.on_notice(notice)

    def finish_with(self, end: StreamEnd, *, intact: bool) -> None:
        """The stream is over in good order."""
        self.end, self.intact, self._over = end, intact, True
        self._arrived.set()
        self._room.set()

    def fail(self, error: LegatoError) -> None:
        """The stream is over with a fault."""
        if self._over:
            return
        self._fault, self._over = error, True
        self._arrived.set()
        self._room.set()


def _replaces(item: Item, before: Item) -> bool:
    """Whether a transcript says better what the unread partial before it says."""
    return (
        isinstance(item, Transcript)
        and isinstance(before, Transcript)
        and before.kind == "partial"
        and (item.utterance, item.start) == (before.utterance, before.start)
    )
