"""The client's end of a stream: what an application says and hears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from legato.audio import AudioFormat, PayloadFormat
from legato.errors import MalformedMessage, MessageTooLarge, UnexpectedMessage
from legato.flow.digest import Chain
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    MAX_POSITION,
    Ack,
    Cancel,
    Continuation,
    Finalize,
    Flush,
    StreamEnd,
    StreamStart,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.protocol.payloads import check_packet, payload_format
from legato.session.history import History
from legato.session.inbound import DELIVERED, Verdict
from legato.session.lane import INF, UNNUMBERED, Item
from legato.session.openers import Openers, Unsaid
from legato.session.outbound import Outbound
from legato.session.states import StreamState
from legato.session.stream import Stream

EARLY_SECONDS: Final = 2.0
"""Audio that may be sent before the server's first credit arrives."""

EARLY_CHARS: Final = 4_000
"""Characters that may be sent before the server's first credit arrives."""

HEARING_SECONDS: Final = 30.0
"""Audio that the server may send beyond what the application has taken."""

PIECE_CHARS: Final = 1_000
"""Characters of one `text`; longer text goes in several, so that credit lets its beginning pass."""

MAX_PAYLOAD_BYTES: Final = MAX_MESSAGE_BYTES - 64
"""Audio of one frame: what a message holds beside the frame's numbers."""


class ClientStream(Stream):
    """One stream as the client sees it.

    Attributes:
        utterance: Number of the utterance that is being said, or of the next one.
        confirmed: Whether the server has answered the start.
        token: What resumes the stream, once the server gave it; see rule 10.
        pace: What the application asked for of the server, in multiples of real time, or None.
        played_upto: Samples that the listener heard.
        consumed_upto: Samples that the application took.
        asked_at: When the server was last asked to start or resume the stream, or -inf.
    """

    __slots__ = (
        "_cancelled",
        "_chain",
        "_ended",
        "_ended_before",
        "_ended_sample",
        "_history",
        "_open",
        "_openers",
        "_said_end",
        "asked_at",
        "confirmed",
        "consumed_upto",
        "pace",
        "played_upto",
        "token",
        "utterance",
    )

    def __init__(
        self,
        start: StreamStart,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        reliable: bool = True,
    ) -> None:
        out = _outbound(payload_format(start), reliable=reliable)
        super().__init__(start, format, out, reliable=reliable)
        self.utterance = 0
        self.confirmed = False
        self.token: str | None = None
        self.pace: float | None = None
        self.played_upto: int | None = None
        self.consumed_upto = 0
        self.asked_at = -INF
        self._open = False
        self._openers = Openers()
        self._cancelled = -1
        self._said_end = False
        self._chain = Chain()
        self._history = History(self.payload)
        self._ended = self._ended_before = -1
        self._ended_sample = 0

    @property
    def asking(self) -> bool:
        """Whether the server owes an answer to a start or a resume."""
        if self.state is StreamState.SUSPENDED:
            return False
        return self.state is StreamState.RESUMING or not self.confirmed

    # what the application says

    def send_audio(self, payload: bytes, *, last: bool = False) -> int:
        """Queue one frame, coded as the stream declares; return its utterance.

        Args:
            payload: Whole samples of the stream's format, or one packet.
            last: Whether the utterance ends with it.

        Raises:
            BadAudio: If `payload` ends in the middle of a sample, or is no packet of the declared
                length.
            MessageTooLarge: If `payload` is above `MAX_PAYLOAD_BYTES`.
            UnexpectedMessage: After `finish`.
        """
        if self.packet_samples:
            check_packet(payload, self.payload)
        else:
            self.payload.samples_in(payload)
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise MessageTooLarge(
                f"a frame of {len(payload)} bytes is above {MAX_PAYLOAD_BYTES}; send 20 ms a frame"
            )
        self._check_open()
        utterance = self.utterance
        self._say(AudioFrame(payload, UNNUMBERED, last, utterance=utterance))
        if last:
            self._close_utterance()
        return utterance

    def send_text(self, text: str) -> int:
        """Queue a piece of text; return its utterance.

        Raises:
            MalformedMessage: If `text` holds a lone surrogate, which UTF-8 has no bytes for.
            UnexpectedMessage: After `finish`.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise MalformedMessage(f"text cannot be sent: {error}") from error
        self._check_open()
        for start in range(0, len(text) or 1, PIECE_CHARS):
            self._say(Text(stream=self.number, text=text[start : start + PIECE_CHARS]))
        return self.utterance

    def flush(self) -> None:
        """Have what is there spoken (or made final); the utterance goes on."""
        if self._open and not self._said_end:
            self._push(Flush(stream=self.number))

    def finalize(self) -> None:
        """End the utterance; the next text or audio opens another."""
        if self._open and not self._said_end:
            self._push(Finalize(stream=self.number))
            self._close_utterance()

    def cancel(self, utterance: int, *, played_upto: int | None = None) -> None:
        """Stop an utterance and those before it: nothing of them is delivered after this call.

        What was not sent of them never is, and the word of it waits for nothing else.

        Args:
            utterance: Its number; one that was not begun counts as the last that was.
            played_upto: Samples that the listener heard.

        Raises:
            ValueError: If `utterance` is below 0.
        """
        if utterance < 0:
            raise ValueError(f"utterance must be 0 or more, not {utterance}")
        utterance = min(utterance, self.utterance if self._open else self.utterance - 1)
        if utterance <= self._cancelled:
            return
        self._cancelled = utterance
        self._history.ended(utterance)
        self.out.drop(Unsaid(self.utterance, utterance))
        *words, last = self._openers.words_of_cancel(utterance, self.number)
        assert isinstance(last, Cancel)  # noqa: S101  (narrows the type)
        last.played_upto = played_upto
        for item in (last, *reversed(words)):
            self.out.push_first(item)
        if utterance == self.utterance:
            self._close_utterance()

    def finish(self) -> None:
        """Say that no more input comes; the server delivers the rest and ends the stream."""
        if not self._said_end:
            self._said_end = True
            self._push(StreamEnd(stream=self.number))

    # what it hears

    def accept(self, seq: int, item: Item, now: float) -> Verdict:
        """Take an arrived entry and note the ack that it calls for.

        Raises:
            UnexpectedMessage: If the server had ended the stream.
        """
        if type(item) is UtteranceEnd and item.sent_seq is not None:
            self.inbound.skip(item.sent_seq + 1, seq)
        verdict = super().accept(seq, item, now)
        if verdict is DELIVERED:
            self.owe_ack(now, at_once=type(item) is not AudioFrame)
        return verdict

    def consumed(self, upto: int, now: float) -> None:
        """Note that the application took everything before sample `upto`; gives credit."""
        if upto > self.consumed_upto:
            self.consumed_upto = upto
            self.owe_ack(now)

    def played(self, upto: int, now: float) -> None:
        """Note that the listener heard everything before sample `upto`."""
        self.played_upto = max(self.played_upto or 0, upto)
        self.owe_ack(now)

    def take_heard(self, now: float) -> list[Item]:
        """Take the delivered entries; `without_cancelled` has to see them when they are told.

        What ended before this epoch ends no second time: of an utterance that failed, the rest of
        its text may have been said to another server.
        """
        items = self.take_ready()
        before = self._ended_before
        for item in items:
            if type(item) is AudioFrame:
                self.received_upto = self._end_of(item)
                self._chain.update(item.payload)
            elif type(item) is UtteranceEnd:
                if item.utterance > before:
                    self._note_end(item, now)
            elif type(item) is Transcript and item.kind == "final":
                self.committed(item.end)
        if self.start.task == "echo":
            self._history.done(self.received_upto)
        if before < 0:
            return items
        return [item for item in items if not _is_of(item, before)]

    def _end_of(self, frame: AudioFrame) -> int:
        """Return up to where a frame is here; how much of a last packet counts is told later."""
        if frame.last and self.packet_samples:
            return frame.sample
        return frame.sample + self.samples_in(frame.payload)

    def _note_end(self, end: UtteranceEnd, now: float) -> None:
        self._ended, self._ended_sample = end.utterance, end.sample
        self._history.ended(end.utterance)
        if end.reason == "cancelled":
            # Nobody will take what lies before: it must not hold back what comes after.
            self.received_upto = end.sample
            self.consumed(end.sample, now)
        elif self.packet_samples and self.start.task != "recognize":
            self.received_upto = end.sample

    def committed(self, upto: int) -> None:
        """Note that the server is done with the samples of up before `upto`."""
        if self.start.task == "recognize":
            self._history.done(upto)

    def begin_epoch(self, now: float) -> list[Item]:
        """Begin anew with a server that has lost the history; nothing is lost by that.

        What was said is queued again, as far as what follows from it is not here.

        Returns:
            What the lost server would have said of utterances that were cancelled.
        """
        sample, said = self._history.again(self.out.samples.spent)
        # An echo comes back where it was said, and what was cancelled never does.
        upto = max(sample, self.received_upto) if self.start.task == "echo" else self.received_upto
        ends: list[Item] = []
        for number in range(self._ended + 1, self._cancelled + 1):
            end = UtteranceEnd(utterance=number, reason="cancelled", sample=upto)
            self._note_end(end, now)
            ends.append(end)
        if self._open and not said and self.utterance <= self._ended:
            # It ended early, with a fault: what is said of it yet must not count as the next.
            said.append((self.utterance, Text(stream=self.number, text="")))
        self._ended_before = self._ended
        self._adopt(sample, said[0][0] if said else self.utterance)
        self._openers.restore(said)
        self.out.extend([item for _, item in said])
        return ends

    def _adopt(self, sample: int, utterance: int) -> None:
        """Begin a history in which `utterance` is the first, and `sample`."""
        self.epoch += 1
        self.start = msgspec.structs.replace(
            self.start,
            continues=Continuation(
                epoch=self.epoch,
                token=self.token or "",
                utterance=utterance,
                speaking=utterance == self._history.passed and utterance > self._ended,
                sample=sample,
                utterance_sample=self._ended_sample,
                received_upto=self.received_upto,
            ),
        )
        self.confirmed = False
        self.inbound = self._make_inbound()
        self._chain = Chain()
        self.out = _outbound(self.payload, reliable=self._reliable, sample=sample)

    def is_whole(self, payload: bytes) -> bool:
        """Whether a frame's payload is whole samples, or what may be a packet."""
        return not self.sample_bytes or len(payload) % self.sample_bytes == 0

    def without_cancelled(self, items: Sequence[Item]) -> list[Item]:
        """Return `items` without the frames of cancelled utterances."""
        return [item for item in items if not self.is_cancelled(item)]

    def is_cancelled(self, item: Item) -> bool:
        """Whether `item` is a frame of a cancelled utterance."""
        return type(item) is AudioFrame and item.utterance <= self._cancelled

    def is_intact(self, end: StreamEnd) -> bool:
        """Whether the digest over what came is the one that the server sent."""
        return end.digest is None or end.digest == self._chain.hexdigest()

    # details

    def _check_open(self) -> None:
        if self._said_end:
            raise UnexpectedMessage("the stream was finished; start another for more input")

    def _say(self, item: AudioFrame | Text) -> None:
        if not self._open:
            self._open = True
            self._openers.note(self.utterance, item)
        self._push(item)

    def _push(self, item: Item) -> None:
        self._history.keep(self.utterance, item)
        self.out.push(item)

    def _close_utterance(self) -> None:
        self.utterance += 1
        self._open = False

    def _make_ack(self) -> Ack:
        received = self.inbound.expected - 1
        upto = min(self.received_upto, MAX_POSITION)
        credit = self.consumed_upto + self.format.samples(HEARING_SECONDS)
        return Ack(
            stream=self.number,
            received_seq=received,
            committed_seq=received,
            received_upto=upto,
            committed_upto=upto,
            played_upto=self.played_upto,
            credit_samples=min(credit, MAX_POSITION),
        )


def _is_of(item: Item, utterance: int) -> bool:
    """Whether `item` sounds or ends an utterance up to `utterance`."""
    return isinstance(item, AudioFrame | UtteranceEnd) and item.utterance <= utterance


def _outbound(format: PayloadFormat, *, reliable: bool, sample: int = 0) -> Outbound:  # noqa: A002  (the field's name everywhere)
    """Return a lane whose first sample is at `sample`, with the credit that holds at first."""
    out = Outbound(
        sample_bytes=format.sample_bytes,
        packet_samples=format.packet_samples,
        sample_rate=format.sample_rate,
        reliable=reliable,
    )
    out.samples.spent = sample
    out.samples.grant(sample + format.samples(EARLY_SECONDS))
    out.chars.grant(EARLY_CHARS)
    return out
