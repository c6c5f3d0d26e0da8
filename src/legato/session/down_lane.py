"""The server's sending half: the down log as the listener must see it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.flow.digest import Chain
from legato.flow.places import DownPlace, Struck
from legato.protocol.media import AudioFrame
from legato.protocol.messages import NO_SEQ, NumberedMessage, StreamEnd, UtteranceEnd
from legato.session.lane import INF, Item
from legato.session.outbound import Outbound

DOWN_RATE: Final = 1.5
"""Initial pace of audio to a listener, in multiples of real time (docs/protocol.md, rule 5)."""

ACK_PATIENCE: Final = 20.0
"""Seconds without an acknowledgement until a client that was sent much is taken to send none."""

IGNORED_BYTES: Final = 2 << 20
"""What may be sent and not acknowledged: half of what a log holds before its worker waits. A client
that has little said may leave acks out."""

ENTRY_BYTES: Final = 256
"""What an entry counts for beside its audio."""


class DownLane(Outbound):
    """Sends what a worker wrote, without the frames that were cancelled, and the totals at the end.

    Attributes:
        end: The `stream_end` that was sent, or None.
        struck: What cancels kept from being sent, of utterances that have not ended.
        cancels: How many were taken.
        stored_cancels: How many of them are in the log. What comes behind the frames that a cancel
            struck waits for it: no other server could tell what was sent.
    """

    __slots__ = ("_digest", "_ended", "_places", "cancels", "end", "stored_cancels", "struck")

    def __init__(self, format: AudioFormat, *, reliable: bool) -> None:  # noqa: A002  (the field's name everywhere)
        super().__init__(
            sample_bytes=format.sample_bytes,
            packet_samples=format.packet_samples,
            sample_rate=format.sample_rate,
            rate=DOWN_RATE,
            reliable=reliable,
            patience=ACK_PATIENCE,
        )
        self.chain = self._digest = Chain()
        self.end: StreamEnd | None = None
        self.struck: deque[Struck] = deque()
        self.cancels = self.stored_cancels = 0
        self._ended = -1
        self._places: deque[DownPlace] = deque()

    def relay(self, items: Sequence[Item]) -> None:
        """Queue entries of the down log."""
        if self.cancelled < 0:
            self.extend(items)
        else:
            self.extend([item for item in items if not self._is_cancelled(item)])

    def cancel(self, utterance: int) -> None:
        """Send no more of the utterances up to `utterance`."""
        if utterance > self.cancelled:
            self.cancelled = utterance
            if utterance > self._ended:
                self.struck.append(Struck(utterance, self.sent_seq))
                self.cancels += 1

    def begin_at(self, sample: int, utterance: int) -> None:
        """Let the first sample be at `sample`, and the first utterance `utterance`."""
        self.samples.spent = sample
        self._ended = utterance - 1

    def take_place(self) -> DownPlace | None:
        """Return the last place that the peer is known to have passed, if that is news."""
        place = None
        while self._places and self._places[0].seq <= self._replay.received:
            place = self._places.popleft()
        if place is not None:
            while self.struck and self.struck[0].utterance <= place.ended:
                self.struck.popleft()
        return place

    def restore(
        self, place: DownPlace, struck: Sequence[Struck], *, received_seq: int, now: float
    ) -> None:
        """Go on from where another server left a client that holds what comes up to `received_seq`.

        All that the log holds is queued: what the client holds is sent to nobody, so that numbers
        and digest are as the other server had them. What was sent before a cancel counts as sent,
        whether the client holds it or not: yet another server will think so too. Nothing was sent
        here before.

        Args:
            place: From which to go on, as stored; what is queued up to there is passed over.
            struck: Of the cancels that the other server took.
            received_seq: Last entry that the client holds.
            now: Monotonic seconds.

        Raises:
            ResumeGap: If the client lacks more than is here, or holds what is not.
        """
        if place.seq != NO_SEQ:
            self.chain = self._digest = Chain(place.digest)
            self.sent_seq, self.next_seq = place.seq, place.seq + 1
            self.samples.spent, self.frames, self._ended = place.samples, place.frames, place.ended
            self._replay.forget(place.seq)
        self.set_rate(INF, now)
        upto = max((received_seq, *(one.sent_seq for one in struck)))
        while self._queue and (seq := _seq(self._queue[0])) <= upto:
            self.cancelled = _cancelled_by(seq, struck)
            if seq <= place.seq or self._is_cancelled(self._queue[0]):
                self._queue.popleft()
            else:
                self.take(now)
        self.set_rate(DOWN_RATE, now)
        self.rewind(received_seq + 1, now)
        self.struck = deque(struck)
        self.cancelled = max((one.utterance for one in struck), default=-1)

    def is_ignored(self, now: float) -> bool:
        """Whether much was sent, and nothing of it acknowledged for long."""
        if now < self.stalled_at:
            return False
        if self.kept_samples * self._sample_bytes + self.kept * ENTRY_BYTES > IGNORED_BYTES:
            return True
        self._progress_at = now  # look again later
        return False

    def _is_cancelled(self, item: Item) -> bool:
        return type(item) is AudioFrame and item.utterance <= self.cancelled

    def _complete(self, message: NumberedMessage) -> NumberedMessage:
        if type(message) is UtteranceEnd:
            self._ended = message.utterance
            if message.utterance <= self.cancelled:
                return msgspec.structs.replace(message, reason="cancelled", sent_seq=self.sent_seq)
            if self._packet_samples:
                self.samples.spent = message.sample
        message = super()._complete(message)
        if type(message) is StreamEnd:
            self.end = message
        return message

    def _take_message(self, message: NumberedMessage, now: float) -> NumberedMessage | None:
        return None if self._waits(message) else super()._take_message(message, now)

    def _head_ready_at(self, item: Item, now: float) -> float:
        return INF if self._waits(item) else super()._head_ready_at(item, now)

    def _waits(self, item: Item) -> bool:
        if self.stored_cancels == self.cancels:
            return False
        return type(item) is UtteranceEnd and item.utterance <= self.cancelled

    def _note_sent(self, seq: int, item: Item, size: int, now: float) -> None:
        super()._note_sent(seq, item, size, now)
        if self._packet_samples and type(item) is AudioFrame and item.last:
            self.samples.spent = item.sample  # how much of it counts the utterance's end tells
        digest = self._digest
        if digest.is_settled or type(item) is not AudioFrame:
            self._places.append(
                DownPlace(seq, self.samples.spent, self.frames, digest.digest, self._ended)
            )


def _seq(item: Item) -> int:
    assert item.seq is not None  # noqa: S101  (what a log holds is numbered)
    return item.seq


def _cancelled_by(seq: int, struck: Sequence[Struck]) -> int:
    """Return the last utterance that was cancelled when entry `seq` had its turn, or -1."""
    return max((one.utterance for one in struck if one.sent_seq < seq), default=-1)
