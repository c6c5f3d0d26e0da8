"""The server's end of a stream: relays entries between a connection and the log."""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.errors import RateLimited, TextTooLong
from legato.flow.credit import Window
from legato.flow.places import DownPlace, Struck, UpPlace
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    NO_SEQ,
    Ack,
    Continuation,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Text,
)
from legato.protocol.payloads import check_packet, payload_format
from legato.session.down_lane import DownLane
from legato.session.inbound import DELIVERED, Verdict
from legato.session.intake import Intake
from legato.session.lane import INF, Item
from legato.session.states import StreamSignal
from legato.session.stream import Stream

WINDOW_SECONDS: Final = 30.0
"""Audio that a client may have under way beyond what is committed."""

RAW_READ: Final = 2 * MAX_MESSAGE_BYTES
"""Bytes that may still come of a raw client that is read from no more: a message of which only the
end was missing, and what one read brings."""

WINDOW_CHARS: Final = 20_000
"""Text that a client may have under way beyond what is committed."""

WINDOW_ENTRIES: Final = 32_768
"""Entries that a client may have under way, however small."""


class ServerStream(Stream):
    """One stream as the gateway sees it; outlives its connection while suspended.

    Attributes:
        samples: Credit given for audio.
        chars: Credit given for text.
        committed_seq: Last entry of up that is done with.
        up_place: The last one of up that is in the log.
        played_upto: Samples that the listener heard.
        max_text_chars: Characters of one utterance.
        engine: Name of the engine that does it.
        voice: Name of the voice, for synthesis.
        tokens: What a client must show to resume it, any of them.
        acquainted: Whether the client has shown that it knows of the stream; one that lost its
            first connection before that holds no token, and can only start it again.
    """

    __slots__ = (
        "_committed",
        "_committed_upto",
        "_down",
        "_intake",
        "_unstored",
        "acquainted",
        "chars",
        "committed_seq",
        "engine",
        "max_text_chars",
        "played_upto",
        "samples",
        "tokens",
        "up_place",
        "voice",
    )

    def __init__(
        self,
        start: StreamStart,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        reliable: bool = True,
    ) -> None:
        payload = payload_format(start)
        self._down = DownLane(payload, reliable=reliable)
        super().__init__(start, format, self._down, reliable=reliable)
        ahead = RAW_READ // payload.sample_bytes if start.framing == "raw" else 0
        self.samples = Window(format.samples(WINDOW_SECONDS) + ahead)
        self.chars = Window(WINDOW_CHARS)
        self.committed_seq = NO_SEQ
        self.up_place = UpPlace()
        self.played_upto: int | None = None
        self.max_text_chars = WINDOW_CHARS
        self.engine = ""
        self.voice: str | None = None
        self.tokens: tuple[str, ...] = ()
        self.acquainted = False
        self._intake = Intake(payload, self._down.cancel)
        self._unstored: deque[tuple[UpPlace, bool, int]] = deque()
        self._committed: deque[tuple[int, int]] = deque()
        self._committed_upto = 0
        if start.continues is not None:
            self._continue(start.continues)

    @property
    def end(self) -> StreamEnd | None:
        """The `stream_end` that was sent, or None."""
        return self._down.end

    @property
    def end_seq(self) -> int:
        """Number of that `stream_end`, or -1."""
        end = self._down.end
        return NO_SEQ if end is None or end.seq is None else end.seq

    @property
    def congested(self) -> bool:
        """Whether a raw client, which knows no credit, should not be read from for now."""
        samples, chars = self.samples, self.chars
        return (
            samples.received - samples.consumed > self.format.samples(WINDOW_SECONDS / 2)
            or chars.received - chars.consumed > WINDOW_CHARS / 2
        )

    def admits(self, token: str) -> bool:
        """Whether `token` resumes this stream."""
        given = token.encode()
        return any(hmac.compare_digest(given, known.encode()) for known in self.tokens)

    def go_on(self, number: int, received_seq: int, tokens: tuple[str, ...], now: float) -> None:
        """Go on under another number, after a connection or entries were lost.

        Args:
            number: Of the stream on its connection from now on.
            received_seq: Last entry of down that the client holds, or -1.
            tokens: What resumes it from now on.
            now: Monotonic seconds.

        Raises:
            ResumeGap: If what comes after `received_seq` is kept no more; nothing has changed.
        """
        self.out.rewind(received_seq + 1, now)
        self.out.acknowledge(received_seq, received_seq, now)
        self.signal(StreamSignal.RESUMED)
        if number != self.start.stream:
            self.start = msgspec.structs.replace(self.start, stream=number)
        self.number = number
        self.tokens = tokens
        self.inbound.forget_gap()
        self.owe_ack(now, at_once=True)

    def acquaint(self, token: str) -> None:
        """The client has shown that it knows of the stream on the connection that gave `token`."""
        if not self.acquainted or len(self.tokens) > 1:
            self.acquainted = True
            self.tokens = (token,)

    def restore_up(self, place: UpPlace, items: Sequence[Item], now: float) -> None:
        """Go on from where another server left up.

        Args:
            place: As it was stored; nothing was taken here before.
            items: What the log holds behind it.
            now: Monotonic seconds.
        """
        inbound = self.inbound
        if place.seq != NO_SEQ:
            inbound.expected = place.seq + 1
            self.up_place = place
            self._intake.restore(place)
            self.received_upto = self.samples.received = place.upto
            self.chars.received = place.chars
        for item in items:
            inbound.accept(inbound.expected, item)
        self._take_in()
        self.stored(inbound.expected - 1, now)

    def restore_down(
        self, place: DownPlace, struck: Sequence[Struck], *, received_seq: int, now: float
    ) -> None:
        """Go on from where another server left down; see `DownLane.restore`.

        Raises:
            ResumeGap: If the client lacks more than is here, or holds what is not.
        """
        self._down.restore(place, struck, received_seq=received_seq, now=now)

    @property
    def struck(self) -> Sequence[Struck]:
        """What cancels kept from being sent, of utterances that have not ended."""
        return self._down.struck

    @property
    def cancels(self) -> int:
        """How many cancels struck something from down; the last ones are in `struck`."""
        return self._down.cancels

    @property
    def is_held(self) -> bool:
        """Whether down may be waiting until a cancel is stored."""
        return self._down.cancels != self._down.stored_cancels

    def take_down_place(self) -> DownPlace | None:
        """Return the last place of down that the client has passed, if that is news."""
        return self._down.take_place()

    # up

    def take(self, seq: int | None, item: Item, now: float) -> Verdict:
        """Take an arrived entry; `seq` is None in raw framing, where this end numbers.

        Raises:
            BadAudio: If its audio ends in the middle of a sample, or is no packet of the declared
                length.
            TextTooLong: If its text is longer than an utterance may be.
            UnexpectedMessage: If the client had ended its input.
        """
        if type(item) is AudioFrame:
            if self.packet_samples:
                check_packet(item.payload, self.payload)
            elif len(item.payload) % self.sample_bytes:
                self.payload.samples_in(item.payload)
        elif type(item) is Text and len(item.text) > self.max_text_chars:
            raise TextTooLong(
                f"a text of {len(item.text)} characters is above {self.max_text_chars};"
                " split it over several utterances"
            )
        inbound = self.inbound
        if seq is None:
            seq = item.seq = inbound.expected
        verdict = inbound.accept(seq, item)
        if verdict is not DELIVERED or not self._reliable:
            self._note(verdict, now)
        return verdict

    def take_for_log(self) -> list[Item]:
        """Take the delivered entries, placed; the log's writer gets them in this order.

        Raises:
            BadAudio: If the end of the input does not tell what has arrived.
            RateLimited: If the client sent beyond its credit, or a raw one was read from while
                it was `congested`.
        """
        items = self._take_in()
        if items:
            self.samples.check()
            if not self.raw:
                self.chars.check()
            last = self.inbound.expected - 1
            if last > self.committed_seq + WINDOW_ENTRIES:
                raise RateLimited(f"{last - self.committed_seq} entries wait to be done: slow down")
        return items

    def _take_in(self) -> list[Item]:
        items, intake = self.inbound.ready, self._intake
        if items:
            self.inbound.ready = []
            urgent = intake.take(items)
            self.received_upto = self.samples.received = intake.upto
            self.chars.received = intake.chars
            place = intake.place(self.inbound.expected - 1)
            self._unstored.append((place, urgent, self._down.cancels))
        return items

    def stored(self, seq: int, now: float) -> bool:
        """Note that every entry up to `seq` is in the log; tell whether the client waits for that.

        Nobody waits to hear that audio is there, which is acknowledged now and then.
        """
        unstored, waits = self._unstored, False
        while unstored and unstored[0][0].seq <= seq:
            self.up_place, urgent, self._down.stored_cancels = unstored.popleft()
            if urgent or self.ack_at == INF:
                self.owe_ack(now, at_once=urgent)
            waits = waits or urgent
        return waits

    def committed(self, seq: int, upto: int, chars: int, now: float) -> None:
        """Note that a worker is done with up to entry `seq`, sample `upto`, character `chars`."""
        if seq > self.committed_seq:
            self.committed_seq = seq
        if upto > self.samples.consumed:
            self.samples.consume(upto)
            self._note_committed(self._down.last_seq, upto)
        self.chars.consume(chars)
        self.owe_ack(now)

    # down

    def is_ignored(self, now: float) -> bool:
        """Whether the client was sent much, and acknowledged nothing of it for long."""
        return self._down.is_ignored(now)

    def relay(self, items: Sequence[Item]) -> None:
        """Queue entries of the down log for the listener."""
        self._down.relay(items)

    def relay_frame(self, frame: AudioFrame) -> None:
        """Queue one frame of the down log for the listener, unless it was cancelled."""
        if frame.utterance > self._down.cancelled:
            self._down.push(frame)

    def started(self) -> StreamStarted:
        """Describe the stream as it runs."""
        start = self.start
        return StreamStarted(
            stream=self.number,
            stream_id=start.stream_id,
            task=start.task,
            codec=start.codec,
            sample_rate=start.sample_rate,
            channels=start.channels,
            frame_ms=start.frame_ms,
            streaming=start.streaming,
            framing=start.framing,
            engine=self.engine,
            voice=self.voice,
            language=start.language,
            epoch=self.epoch,
            credit_samples=self.samples.limit,
            credit_chars=self.chars.limit,
            resumable=not self.raw,
            received_seq=self.up_place.seq,
            committed_seq=self.committed_seq,
        )

    # details

    def _continue(self, where: Continuation) -> None:
        """Begin where a client goes on that another server has lost."""
        self.epoch = where.epoch
        self.up_place = UpPlace(NO_SEQ, where.sample, 0, where.utterance, where.speaking)
        self._intake.restore(self.up_place)
        self.received_upto = self.samples.received = where.sample
        self.samples.consume(where.sample)
        self._committed_upto = where.sample
        self._down.begin_at(where.received_upto, where.utterance)

    def _note_committed(self, seq: int, upto: int) -> None:
        """Note that what down holds up to entry `seq` covers up to sample `upto`."""
        marks = self._committed
        if marks and marks[-1][0] == seq:
            marks.pop()
        marks.append((seq, upto))

    def _tell_committed(self) -> int:
        """Return how far up is committed by what went before.

        A client forgets what is committed, and the server may be lost with a final on its way.
        """
        marks = self._committed
        left = self._down.left_seq
        upto = self._committed_upto
        for seq, covered in marks:
            if seq > left:
                break
            upto = covered
        while marks and marks[0][0] <= self._down.peer_seq:
            _, self._committed_upto = marks.popleft()
        return upto

    def _make_ack(self) -> Ack:
        return Ack(
            stream=self.number,
            received_seq=self.up_place.seq,
            committed_seq=self.committed_seq,
            received_upto=self.up_place.upto,
            committed_upto=self._tell_committed(),
            credit_samples=self.samples.limit,
            credit_chars=self.chars.limit,
        )
