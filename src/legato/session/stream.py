"""What both ends of a stream share: its state, its two lanes, and the acks it owes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.errors import UnexpectedMessage
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import Ack, Message, NumberedMessage, StreamStart
from legato.protocol.payloads import payload_format
from legato.session.inbound import DELIVERED, Inbound, Verdict
from legato.session.lane import INF, RESEND_AFTER, Item
from legato.session.outbound import Outbound
from legato.session.states import OVER, SENDING, STREAM, StreamSignal, StreamState, advance

ACK_INTERVAL: Final = 0.1
"""Seconds between acks while anything flows (docs/protocol.md, rule 4)."""

REORDER_WAIT: Final = 0.2
"""Seconds that entries are held for a missing one on a link that reorders (rule 13)."""

REORDER_ENTRIES: Final = 32


class Stream(ABC):
    """One end of one stream.

    Args:
        start: The stream's parameters.
        format: The PCM format that they declare.
        out: What this end sends.
        reliable: Whether the transport keeps order and loses nothing.

    Attributes:
        number: Number of the stream on its connection.
        start: The stream's parameters.
        format: The PCM format.
        payload: What audio frames hold.
        sample_bytes: Bytes of one sample of it over all channels; 0 where it is packets.
        packet_samples: Samples of a packet.
        raw: Whether audio travels as bare PCM.
        state: See `session.states`.
        sending: Whether entries may leave.
        epoch: Incarnation of the history.
        out: What this end sends.
        inbound: What it receives.
        received_upto: Samples received.
        ack_at: When an ack is due, or inf.
        give_up_at: When to stop waiting for a missing entry, or inf.
    """

    __slots__ = (
        "_last_ack",
        "_reliable",
        "ack_at",
        "epoch",
        "format",
        "give_up_at",
        "inbound",
        "number",
        "out",
        "packet_samples",
        "payload",
        "raw",
        "received_upto",
        "sample_bytes",
        "sending",
        "start",
        "state",
    )

    def __init__(
        self,
        start: StreamStart,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        out: Outbound,
        *,
        reliable: bool,
    ) -> None:
        self.number = start.stream
        self.start = start
        self.format = format
        self.payload = payload_format(start)
        self.sample_bytes = self.payload.sample_bytes
        self.packet_samples = self.payload.packet_samples
        self.raw = start.framing == "raw"
        self.state = StreamState.STARTING
        self.sending = True
        self.epoch = 0
        self.out = out
        self.received_upto = 0
        self.ack_at = INF
        self.give_up_at = INF
        self._reliable = reliable
        self.inbound = self._make_inbound()
        self._last_ack = -INF

    def _make_inbound(self) -> Inbound:
        return Inbound(reorder=0 if self._reliable else REORDER_ENTRIES)

    def signal(self, signal: StreamSignal) -> None:
        """Move on by the table.

        Raises:
            UnexpectedMessage: If the table has no such step.
        """
        self.state = advance(STREAM, self.state, signal)
        self.sending = self.state in SENDING

    @property
    def over(self) -> bool:
        """Whether the stream has ended or failed."""
        return self.state in OVER

    def samples_in(self, payload: bytes) -> int:
        """Return the samples that the payload of a frame stands for."""
        if self.sample_bytes:
            return len(payload) // self.sample_bytes
        return self.packet_samples if payload else 0

    # receiving

    def accept(self, seq: int, item: Item, now: float) -> Verdict:
        """Take an arrived entry.

        Raises:
            UnexpectedMessage: If the peer had ended its input.
        """
        verdict = self.inbound.accept(seq, item)
        if verdict is not DELIVERED or not self._reliable:
            self._note(verdict, now)
        return verdict

    def _note(self, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.DUPLICATE:
            self.owe_ack(now)
        if not self.inbound.waiting:
            self.give_up_at = INF
        elif verdict is DELIVERED or self.give_up_at == INF:
            self.give_up_at = now + REORDER_WAIT

    def take_ready(self) -> list[Item]:
        """Take the delivered entries."""
        items = self.inbound.ready
        if items:
            self.inbound.ready = []
        return items

    # acks

    def owe_ack(self, now: float, *, at_once: bool = False) -> None:
        """Have an ack sent: within 100 ms of the last one, or at once."""
        if at_once:
            self.ack_at = min(self.ack_at, now)
        elif self.ack_at == INF:
            self.ack_at = max(now, self._last_ack + ACK_INTERVAL)

    def take_ack(self, now: float) -> Ack:
        """Return an ack of what is here; none is owed any more.

        On a lossy link it is repeated later, as the peer may wait for the credit in it.
        """
        self.ack_at = INF if self._reliable else now + RESEND_AFTER
        self._last_ack = now
        return self._make_ack()

    @abstractmethod
    def _make_ack(self) -> Ack:
        """Return an ack of what is here."""

    # sending

    def take_frames(self, frames: list[str | bytes], now: float, *, room_bytes: int) -> int:
        """Append to `frames` the entries that may be sent now, coded, while there is room.

        Returns:
            The bytes of room left, at most 0 if it was not enough.

        Raises:
            MalformedMessage: If an entry holds what cannot be coded.
            MessageTooLarge: If it is above `MAX_MESSAGE_BYTES`.
        """
        take, raw = self.out.take, self.raw
        while room_bytes > 0 and (item := take(now)) is not None:
            frame: str | bytes
            if type(item) is not AudioFrame:
                frame = self._encode_message(item)
            elif raw:
                frame = item.payload
            else:
                frame = encode_frame(item, self.number, self.epoch)
            frames.append(frame)
            room_bytes -= len(frame)
        return room_bytes

    def _encode_message(self, message: Item) -> str:
        assert isinstance(message, Message)  # noqa: S101  (narrows the type)
        if message.stream != self.number:
            message = msgspec.structs.replace(message, stream=self.number)
        return encode(message)

    def next_timer(self, now: float) -> float:
        """When this stream wants to be looked at again, or inf."""
        if not self.sending:
            return INF
        due, ack_at = self.out.ready_at(now), self.ack_at
        if ack_at < due:
            due = ack_at
        return due if due < self.give_up_at else self.give_up_at


def seq_of(message: NumberedMessage) -> int:
    """Return the number that a message must have on this connection.

    Raises:
        UnexpectedMessage: If it has none.
    """
    if message.seq is None:
        raise UnexpectedMessage(
            "a stream's entries need seq, from 0, one counter per direction"
            " (only raw framing leaves it out)"
        )
    return message.seq
