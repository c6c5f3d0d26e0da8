"""The sending half of a lane: numbers, credit, pace and replay."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from legato.errors import ResumeGap
from legato.flow.credit import Credit
from legato.flow.digest import Chain
from legato.flow.pacing import TokenBucket
from legato.flow.replay import Replay
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Finalize, NumberedMessage, StreamEnd, Text
from legato.session.lane import INF, RESEND_AFTER, UNNUMBERED, Item

LEAD: Final = 2.0
"""Seconds of audio that may run ahead of real time before pacing holds it (rule 5)."""


class Outbound:
    """Sending half: queues, numbers, holds back, keeps and repeats.

    Args:
        sample_bytes: Bytes of a sample over all channels; 0 where a payload is a packet.
        packet_samples: Samples of a packet.
        sample_rate: Hz.
        keep: Seconds of audio kept for replay beyond what the peer has not received.
        reliable: Whether the transport delivers all or breaks; if not, silence means loss.
        rate: Pace of audio in multiples of real time; inf for none.
        patience: Seconds without an acknowledgement until `stalled_at`; on a link that may lose
            entries it is `RESEND_AFTER`.

    Attributes:
        cancelled: Last utterance of which no more frames are sent, or -1. They are dropped when
            their turn comes: a cancel costs the same however much is queued.
        samples: Credit for audio; `spent` is the position of the next new sample.
        chars: Credit for text.
        next_seq: Number of the next new entry.
        sent_seq: Last number sent.
        frames: Audio frames sent, repeats not counted.
        chain: Digest over the payloads sent, or None where nobody asks for it.
    """

    __slots__ = (
        "_bucket",
        "_lead",
        "_packet_samples",
        "_patience",
        "_progress_at",
        "_queue",
        "_reliable",
        "_replay",
        "_resend",
        "_sample_bytes",
        "_sample_rate",
        "cancelled",
        "chain",
        "chars",
        "frames",
        "next_seq",
        "samples",
        "sent_seq",
    )

    def __init__(
        self,
        *,
        sample_bytes: int,
        sample_rate: int,
        packet_samples: int = 0,
        keep: float = 60.0,
        reliable: bool = True,
        rate: float = INF,
        patience: float = INF,
    ) -> None:
        self._sample_bytes = sample_bytes
        self._packet_samples = packet_samples
        self._sample_rate = sample_rate
        self._lead = round(LEAD * sample_rate)
        self._reliable = reliable
        self._queue: deque[Item] = deque()
        self._resend: deque[Item] = deque()
        self._replay: Replay[Item] = Replay(bound=round(keep * sample_rate))
        self._bucket: TokenBucket | None = None
        self._patience = patience if reliable else RESEND_AFTER
        self._progress_at = INF
        self.cancelled = -1
        self.samples = Credit()
        self.chars = Credit()
        self.next_seq = 0
        self.sent_seq = -1
        self.frames = 0
        self.chain: Chain | None = None
        self.set_rate(rate, now=0.0)

    def push(self, item: Item) -> None:
        """Queue an entry."""
        self._queue.append(item)

    def extend(self, items: Sequence[Item]) -> None:
        """Queue entries."""
        self._queue.extend(items)

    def push_first(self, item: Item) -> None:
        """Queue an entry that goes before all others that were not sent yet."""
        self._queue.appendleft(item)

    @property
    def queued(self) -> int:
        """Entries not sent yet."""
        return len(self._queue)

    @property
    def last_seq(self) -> int:
        """Last entry that is queued or sent, where they come numbered; -1 for none."""
        last = self._queue[-1].seq if self._queue else None
        return self.sent_seq if last is None else last

    @property
    def peer_seq(self) -> int:
        """Last entry that the peer is known to hold, -1 for none."""
        return self._replay.received

    @property
    def left_seq(self) -> int:
        """Last entry that goes before whatever is sent from now on, -1 for none."""
        if not self._reliable:
            return self.peer_seq
        if self._resend:
            return (self._resend[0].seq or 0) - 1
        return self.sent_seq

    @property
    def kept_samples(self) -> int:
        """Samples kept for replay."""
        return self._replay.total

    @property
    def kept(self) -> int:
        """Entries kept for replay."""
        return len(self._replay)

    @property
    def stalled_at(self) -> float:
        """When what is sent counts as ignored if nothing is acknowledged until then, or inf."""
        return self._progress_at + self._patience

    @property
    def complete(self) -> bool:
        """Whether everything ever sent could be sent again."""
        return self._replay.complete

    def drop(self, unwanted: Callable[[Item], bool]) -> None:
        """Remove entries that were not sent yet; asks from the last to the first."""
        self._queue = deque(item for item in reversed(self._queue) if not unwanted(item))
        self._queue.reverse()

    def set_rate(self, rate: float, now: float) -> None:
        """Pace audio at `rate` times real time, 2 s ahead at the most; 0 stops it, inf frees it."""
        if math.isinf(rate):
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(rate * self._sample_rate, self._lead)
        else:
            self._bucket.set_rate(rate * self._sample_rate, now)

    def take(self, now: float) -> Item | None:
        """Return the next entry that may be sent now, numbered and kept, or None."""
        if self._resend:
            return self._resend.popleft()
        if not self._queue:
            return None
        item = self._queue[0]
        if type(item) is AudioFrame:
            return self._take_frame(item, now)
        assert isinstance(item, NumberedMessage)  # noqa: S101  (narrows the type)
        return self._take_message(item, now)

    def _take_frame(self, item: AudioFrame, now: float) -> Item | None:
        if item.utterance <= self.cancelled:
            self._skip_cancelled()
            return self.take(now)
        width = self._sample_bytes  # what follows is `_size`, without the call
        size = len(item.payload) // width if width else self._size(item.payload)
        samples, bucket = self.samples, self._bucket
        new = item.seq == UNNUMBERED
        end = size + (samples.spent if new else item.sample)
        if samples.limit is not None and end > samples.limit:
            return None
        # A frame that is longer than the lead goes when the whole lead is free.
        paced = size if size < self._lead else self._lead
        if bucket is not None and paced and not bucket.take(paced, now):
            return None
        if new:
            item.seq, item.sample = self.next_seq, samples.spent
        samples.spent = end
        self.frames += 1
        if self.chain is not None:
            self.chain.update(item.payload)
        self._note_sent(item.seq, item, size, now)
        return item

    def _size(self, payload: bytes) -> int:
        """Return the samples that a payload stands for."""
        if self._sample_bytes:
            return len(payload) // self._sample_bytes
        return self._packet_samples if payload else 0

    def _skip_cancelled(self) -> None:
        queue, cancelled = self._queue, self.cancelled
        while queue and type(item := queue[0]) is AudioFrame and item.utterance <= cancelled:
            queue.popleft()

    def _take_message(self, message: NumberedMessage, now: float) -> NumberedMessage | None:
        if type(message) is Text:
            upto = self.chars.spent + len(message.text)
            if not self.chars.allows(upto):
                return None
            self.chars.spent = upto
        message = self._complete(message)
        if message.seq is None:
            message.seq = self.next_seq
        self._note_sent(message.seq, message, 0, now)
        return message

    def _complete(self, message: NumberedMessage) -> NumberedMessage:
        """Return `message` as it is to leave, now that its turn has come.

        Marks say where they stand among the samples, and the end has the totals.
        """
        if type(message) is Finalize and message.sample is None and self.frames:
            return msgspec.structs.replace(message, sample=self.samples.spent)
        if type(message) is StreamEnd:
            return msgspec.structs.replace(
                message,
                frames=self.frames,
                samples=self.samples.spent,
                digest=self.chain.hexdigest() if self.chain is not None else None,
            )
        return message

    def _note_sent(self, seq: int, item: Item, size: int, now: float) -> None:
        self._queue.popleft()
        self.sent_seq = seq
        self.next_seq = seq + 1
        self._replay.keep(seq, item, size)
        if self._progress_at == INF:
            self._progress_at = now

    def ready_at(self, now: float) -> float:
        """When `take` or `repeat_if_stalled` may have something to do: `now`, later, or inf."""
        if self._resend:
            return now
        wake = self._progress_at + self._patience
        if self._queue:
            return min(wake, self._head_ready_at(self._queue[0], now))
        return wake

    def _head_ready_at(self, item: Item, now: float) -> float:
        if type(item) is AudioFrame:
            if item.utterance <= self.cancelled:
                return now
            size = self._size(item.payload)
            start = self.samples.spent if item.seq == UNNUMBERED else item.sample
            if not self.samples.allows(start + size):
                return INF
            if self._bucket is not None and size:
                return self._bucket.ready_at(min(size, self._lead), now)
        elif type(item) is Text and not self.chars.allows(self.chars.spent + len(item.text)):
            return INF
        return now

    def acknowledge(self, received: int, committed: int, now: float) -> None:
        """Note what the peer holds (up to `received`) and has done with (up to `committed`).

        Neither can be more than was sent, and what is done with was received.
        """
        committed = min(committed, self.sent_seq)
        news = self._replay.receive(max(min(received, self.sent_seq), committed))
        self._replay.release(committed)
        if not self._replay.unreceived:
            self._progress_at = INF
        elif news:
            self._progress_at = now

    def rewind(self, seq: int, now: float) -> None:
        """Send again everything from `seq` on.

        On a link that reorders, what the peer was once known to hold is not sent again: then the
        request is older than the acknowledgement.

        Raises:
            ResumeGap: If something from there on is kept no more, or was never sent.
        """
        if not self._reliable:
            seq = max(seq, self._replay.received + 1)
        if seq > self.sent_seq + 1:
            raise ResumeGap(
                f"the peer expects entry {seq}, only {self.sent_seq + 1} were sent",
                missing=(self.sent_seq + 1, seq),
            )
        self._resend = deque(self._replay.since(seq))
        self._progress_at = now if self._replay.unreceived else INF

    def repeat_if_stalled(self, now: float) -> None:
        """On a lossy link, send again what shows no sign of having arrived."""
        if self._reliable or now < self._progress_at + RESEND_AFTER:
            return
        self._resend = deque(self._replay.since(self._replay.received + 1))
        self._progress_at = now if self._resend else INF
