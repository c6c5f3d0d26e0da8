"""The client's end of a stream: what an application says and hears."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from legato.audio import AudioFormat
from legato.errors import MalformedMessage, MessageTooLarge, UnexpectedMessage
from legato.flow.digest import Chain
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    MAX_POSITION,
    Ack,
    Cancel,
    Finalize,
    Flush,
    StreamEnd,
    StreamStart,
    Text,
    UtteranceEnd,
)
from legato.session.inbound import DELIVERED, Verdict
from legato.session.lane import INF, UNNUMBERED, Item
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
        out = Outbound(
            sample_bytes=format.sample_bytes, sample_rate=format.sample_rate, reliable=reliable
        )
        super().__init__(start, format, out, reliable=reliable)
        out.samples.grant(format.samples(EARLY_SECONDS))
        out.chars.grant(EARLY_CHARS)
        self.utterance = 0
        self.confirmed = False
        self.token: str | None = None
        self.pace: float | None = None
        self.played_upto: int | None = None
        self.consumed_upto = 0
        self.asked_at = -INF
        self._open = False
        self._openers: deque[tuple[int, AudioFrame | Text]] = deque()
        self._cancelled = -1
        self._said_end = False
        self._chain = Chain()

    @property
    def asking(self) -> bool:
        """Whether the server owes an answer to a start or a resume."""
        if self.state is StreamState.SUSPENDED:
            return False
        return self.state is StreamState.RESUMING or not self.confirmed

    # what the application says

    def send_audio(self, payload: bytes, *, last: bool = False) -> int:
        """Queue one frame of PCM; return its utterance.

        Args:
            payload: Whole samples of the stream's format.
            last: Whether the utterance ends with it.

        Raises:
            BadAudio: If `payload` ends in the middle of a sample.
            MessageTooLarge: If `payload` is above `MAX_PAYLOAD_BYTES`.
            UnexpectedMessage: After `finish`.
        """
        self.format.samples_in(payload)
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
            self.out.push(Flush(stream=self.number))

    def finalize(self) -> None:
        """End the utterance; the next text or audio opens another."""
        if self._open and not self._said_end:
            self.out.push(Finalize(stream=self.number))
            self._close_utterance()

    def cancel(self, utterance: int, *, played_upto: int | None = None) -> None:
        """Stop an utterance and those before it: nothing of them is delivered after this call.

        What was not sent of them never is, and the word of it waits for nothing else. The server
        numbers utterances by what it gets: of one that is cancelled before any of it was sent, an
        empty piece tells that it was there.

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
        self.out.drop(_Unsaid(self.utterance, utterance))
        *words, last = self._words_of_cancel(utterance)
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
            self.out.push(StreamEnd(stream=self.number))

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
        """Take the delivered entries; `without_cancelled` has to see them when they are told."""
        items = self.take_ready()
        for item in items:
            if type(item) is AudioFrame:
                self.received_upto = item.sample + len(item.payload) // self.sample_bytes
                self._chain.update(item.payload)
            elif type(item) is UtteranceEnd and item.reason == "cancelled":
                # Nobody will take what lies before: it must not hold back what comes after.
                self.received_upto = item.sample
                self.consumed(item.sample, now)
        return items

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
            self._forget_sent_openers()
            self._openers.append((self.utterance, item))
        self.out.push(item)

    def _forget_sent_openers(self) -> None:
        openers = self._openers
        while openers and openers[0][1].seq not in _UNSENT:
            openers.popleft()

    def _words_of_cancel(self, upto: int) -> list[Item]:
        """Return what tells the server of a cancel, when the unsent of it has left the queue."""
        self._forget_sent_openers()
        words: list[Item] = []
        first = upto + 1
        for place, (number, opener) in enumerate(self._openers):
            if number > upto:
                break
            first = min(first, number)
            empty: AudioFrame | Text
            if type(opener) is AudioFrame:
                empty = AudioFrame(b"", UNNUMBERED, last=True, utterance=number)
            else:
                empty = Text(stream=self.number, text="")
            self._openers[place] = number, empty
            words += empty, Cancel(stream=self.number, utterance=number)
        if first > 0:
            words.insert(0, Cancel(stream=self.number, utterance=first - 1))
        return words

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


_UNSENT: Final = (None, UNNUMBERED)
"""Numbers of entries that have none yet."""


class _Unsaid:
    """Tells which queued entries belong to cancelled utterances, asked from the last to the first.

    Text and marks do not say which utterance is theirs; counting back its ends from the one that
    is being said does.
    """

    __slots__ = ("_cancelled", "_utterance")

    def __init__(self, utterance: int, cancelled: int) -> None:
        self._utterance = utterance
        self._cancelled = cancelled

    def __call__(self, item: Item) -> bool:
        if type(item) is Cancel:
            self._utterance = -1  # an older cancel, which the new one includes, and what it ended
        elif type(item) is Finalize or (type(item) is AudioFrame and item.last):
            self._utterance -= 1
        return self._utterance <= self._cancelled and type(item) is not StreamEnd
