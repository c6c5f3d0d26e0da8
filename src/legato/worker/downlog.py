"""A job's pen: numbers, positions and frames of the down log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.bus.base import Committed, Item, LogWriter
from legato.errors import LegatoError
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Notice, StreamEnd, SwitchUp, Transcript, UtteranceEnd
from legato.protocol.payloads import DEFAULT_BITRATE
from legato.worker.coding import PacketCoder, encoding
from legato.worker.takeover import Standing

ENTRY_SECONDS: Final = 0.1
"""Audio of one log entry, at most one frame more."""


BUSY: Final = "the engine is busy: partials are rarer and segments shorter; finals all come"


class DownLog:
    """Writes one down log.

    Items are gathered until `write`, which appends what is there: entries of up to 100 ms of
    audio, each with the control items that follow it.

    What it is given is PCM; what it writes is coded as the stream declares. Opus is coded in a
    thread, so that only `say` and `finish` take audio of it.

    Args:
        writer: Of the log.
        audio: Format of the stream.
        frame_ms: Milliseconds of a full frame.
        standing: Where the stream stands; kept up to date.
        codec: Of the frames.
        bitrate: Bits a second that an encoder aims at.

    Attributes:
        seq: Number of the next entry.
        sample: Position of the next sample.
        utterance: Number of the utterance that is being answered.
    """

    def __init__(
        self,
        writer: LogWriter,
        *,
        audio: AudioFormat,
        frame_ms: int,
        standing: Standing,
        codec: Codec = Codec.PCM_S16LE,
        bitrate: int = DEFAULT_BITRATE,
    ) -> None:
        self.seq = standing.seq
        self.sample = standing.sample
        self.utterance = standing.utterance
        self._sounding = standing.sounding
        self._standing = standing
        self._writer = writer
        payload = PayloadFormat(audio.sample_rate, audio.channels, codec, frame_ms)
        self._payload_bytes = payload.sample_bytes
        self._packet_samples = payload.packet_samples
        self._translate = encoding(codec)
        self._coder = PacketCoder(payload, bitrate) if codec is Codec.OPUS else None
        self._announced = False
        self._tail: tuple[int, list[bytes]] | None = None
        self._sample_bytes = audio.sample_bytes
        self._frame_bytes = audio.frame_bytes(frame_ms / 1000)
        self._entry_samples = audio.samples(ENTRY_SECONDS)
        self._recovering = False
        self._degraded = False
        self._rest = bytearray()
        self._items: list[Item] = []

    def audio(self, pcm: bytes) -> None:
        """Add audio of the utterance; what does not fill a frame waits for more."""
        self._restore()
        rest = self._rest
        rest += pcm
        size = self._frame_bytes
        whole = len(rest) - len(rest) % size
        for start in range(0, whole, size):
            self._frame(bytes(rest[start : start + size]), last=False)
        del rest[:whole]

    async def say(self, pcm: bytes) -> None:
        """Add audio of the utterance, coded in a thread if that takes long."""
        if self._coder is None:
            self.audio(pcm)
            return
        packets = await self._coder.push(pcm)
        self._restore()
        self._add_packets(packets)

    @property
    def is_behind(self) -> bool:
        """Whether an encoder holds audio of the utterance, for `finish` to ask for."""
        return self._coder is not None and self._coder.pending_samples > 0

    async def finish(self) -> None:
        """Have what the encoder holds coded, before the utterance ends."""
        if self._coder is not None:
            self._tail = (self._coder.pending_samples, await self._coder.finish())

    def end_utterance(
        self,
        reason: Literal["done", "cancelled", "failed"] = "done",
        error: LegatoError | None = None,
    ) -> None:
        """End the utterance: its last frame, unless it was cancelled or is silent, and its end."""
        self._restore()
        if self._coder is not None:
            self._end_packets(self._coder, cancelled=reason == "cancelled")
        elif reason != "cancelled" and (self._sounding or self._rest):
            self._frame(bytes(self._rest), last=True)
        self._rest.clear()
        self._items.append(
            UtteranceEnd(
                seq=self._number(),
                utterance=self.utterance,
                reason=reason,
                code=None if error is None else error.code,
                message=None if error is None else error.message,
                sample=self.sample,
            )
        )
        self.utterance += 1
        self._sounding = False

    def end_stream(self) -> None:
        """Say that everything was delivered; the gateway adds the digest of what it sent."""
        # One entry for each frame and each end of an utterance, of which there are `utterance`;
        # beside those of an encoder, which the gateway has no need to be told of.
        frames: int | None = self.seq - self.utterance if self.sample else 0
        if self._coder is not None:
            frames = None
        self._items.append(StreamEnd(seq=self._number(), frames=frames, samples=self.sample))

    def transcript(self, transcript: Transcript) -> None:
        """Add a text; it gets its number."""
        self._restore()
        transcript.seq = self._number()
        self._items.append(transcript)

    def error(self, error: LegatoError) -> None:
        """Add the stream's last word."""
        self._items.append(error_message(error))

    def notice(self, notice: Notice) -> None:
        """Add news."""
        self._items.append(notice)

    def recovering(self, message: str, *, idle: bool) -> None:
        """Say at once that the stream goes on elsewhere; `restored` follows with the next output.

        Args:
            message: For a person.
            idle: Whether no output is owed: then the stream is restored already.
        """
        self.notice(Notice(kind="recovering", message=message))
        self._recovering = True
        if idle:
            self._restore()
        self.write()

    def _restore(self) -> None:
        if self._recovering:
            self._recovering = False
            self.notice(Notice(kind="restored"))

    def degraded(self, active: bool) -> None:
        """Say at once that the engine gives the stream less because of its load, or no longer.

        Args:
            active: Whether it does; only a change is told.
        """
        if active == self._degraded:
            return
        self._degraded = active
        if active:
            self.notice(Notice(kind="degraded", message=BUSY))
        else:
            self.notice(Notice(kind="restored"))
        self.write()

    def queued(self, place: int) -> None:
        """Say at once that the stream waits for its engine, at this place of the line."""
        self.notice(Notice(kind="queued", position=place, message="all slots are taken"))
        self.write()

    def commit(self, mark: Committed) -> None:
        """Add a mark; it lands in the same entry as what it is about."""
        self._items.append(mark)

    def write(self) -> None:
        """Append what was gathered.

        Raises:
            SessionReplaced: If another worker holds the stream.
            SessionExpired: If the log is gone.
            Overloaded: If nobody reads and nobody waited for `room`.
        """
        items, self._items = self._items, []
        for item in items:
            self._standing.note(item, self._payload_bytes, self._packet_samples)
        entry: list[Item] = []
        samples = 0
        for item in items:
            if type(item) is AudioFrame:
                if samples >= self._entry_samples:
                    self._writer.append(entry)
                    entry, samples = [], 0
                width = self._payload_bytes
                samples += len(item.payload) // width if width else self._packet_samples
            entry.append(item)
        if entry:
            self._writer.append(entry)

    async def room(self) -> None:
        """Wait until the reader has caught up enough; see `LogWriter.room`."""
        await self._writer.room()

    def _frame(self, pcm: bytes, *, last: bool) -> None:
        payload = pcm if self._translate is None else self._translate(pcm)
        self._add_frame(payload, len(pcm) // self._sample_bytes, last=last)

    def _add_frame(self, payload: bytes, samples: int, *, last: bool = False) -> None:
        self._items.append(
            AudioFrame(payload, self._number(), last, sample=self.sample, utterance=self.utterance)
        )
        self.sample += samples
        self._sounding = True

    def _add_packets(self, packets: Sequence[bytes]) -> None:
        if packets and self._coder is not None and not self._announced:
            self._announced = True
            self._items.append(
                SwitchUp(seq=self._number(), rung=self._coder.rung, sample=self.sample)
            )
        for packet in packets:
            self._add_frame(packet, self._packet_samples)

    def _end_packets(self, coder: PacketCoder, *, cancelled: bool) -> None:
        """Add the last packets of the utterance, which ends within the very last."""
        tail, self._tail = self._tail, None
        if cancelled:
            coder.renew()
        else:
            pending, packets = tail or (coder.pending_samples, coder.finish_now())
            end = self.sample + pending
            self._add_packets(packets)
            if packets:
                self._end_frame()
            elif self._sounding:
                self._add_frame(b"", 0, last=True)
            self.sample = end
        self._announced = False

    def _end_frame(self) -> None:
        frame = self._items[-1]
        assert isinstance(frame, AudioFrame)  # noqa: S101  (narrows the type)
        frame.last = True

    def _number(self) -> int:
        seq = self.seq
        self.seq = seq + 1
        return seq
