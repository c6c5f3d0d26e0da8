"""A job's pen: numbers, positions and frames of the down log."""

from __future__ import annotations

from typing import Final, Literal

from legato.audio import AudioFormat
from legato.bus.base import Committed, Item, LogWriter
from legato.errors import LegatoError
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Notice, StreamEnd, Transcript, UtteranceEnd
from legato.worker.takeover import Standing

ENTRY_SECONDS: Final = 0.1
"""Audio of one log entry, at most one frame more."""


class DownLog:
    """Writes one down log.

    Items are gathered until `write`, which appends what is there: entries of up to 100 ms of
    audio, each with the control items that follow it.

    Args:
        writer: Of the log.
        audio: Format of the stream.
        frame_ms: Milliseconds of a full frame.
        standing: Where the stream stands; kept up to date.

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
    ) -> None:
        self.seq = standing.seq
        self.sample = standing.sample
        self.utterance = standing.utterance
        self._sounding = standing.sounding
        self._standing = standing
        self._writer = writer
        self._sample_bytes = audio.sample_bytes
        self._frame_bytes = audio.frame_bytes(frame_ms / 1000)
        self._entry_samples = audio.samples(ENTRY_SECONDS)
        self._recovering = False
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

    def end_utterance(
        self,
        reason: Literal["done", "cancelled", "failed"] = "done",
        error: LegatoError | None = None,
    ) -> None:
        """End the utterance: its last frame, unless it was cancelled or is silent, and its end."""
        self._restore()
        if reason != "cancelled" and (self._sounding or self._rest):
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
        # One entry for each frame and each end of an utterance, of which there are `utterance`.
        frames = self.seq - self.utterance if self.sample else 0
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
            self._standing.note(item, self._sample_bytes)
        entry: list[Item] = []
        samples = 0
        for item in items:
            if type(item) is AudioFrame:
                if samples >= self._entry_samples:
                    self._writer.append(entry)
                    entry, samples = [], 0
                samples += len(item.payload) // self._sample_bytes
            entry.append(item)
        if entry:
            self._writer.append(entry)

    async def room(self) -> None:
        """Wait until the reader has caught up enough; see `LogWriter.room`."""
        await self._writer.room()

    def _frame(self, payload: bytes, *, last: bool) -> None:
        self._items.append(
            AudioFrame(payload, self._number(), last, sample=self.sample, utterance=self.utterance)
        )
        self.sample += len(payload) // self._sample_bytes
        self._sounding = True

    def _number(self) -> int:
        seq = self.seq
        self.seq = seq + 1
        return seq
