"""One echo: every frame comes back as it came, in the very call that delivers it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from legato.bus.base import Committed, Entry, Item, Job, Logs, LogWriter, Restart
from legato.errors import Internal, LegatoError, UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, StreamEnd, Text, UtteranceEnd
from legato.protocol.payloads import payload_format
from legato.telemetry.logs import logger, trace_of
from legato.worker.tail import Tail
from legato.worker.takeover import GivenBack, Standing

MARK_FRAMES: Final = 10
"""Frames for one mark, if they are not longer than this:"""

MARK_SECONDS: Final = 0.5
"""Seconds of audio for one mark. Credit comes with marks: a client may stop and wait for it long
before its tenth frame, if its frames are long."""

log = logger("legato.worker.echo")


class Echo:
    """Does one echo job, from its start or from where another worker left it.

    There is no task and no queue between the two logs. A mark is written with the frames that make
    it due if there is room, or else by `run` once there is, so that a client who does not read is
    given no more credit.

    Args:
        job: What to do.
        logs: Of the bus.
        writer: Of the down log.
        standing: Where the stream stands.
    """

    def __init__(self, job: Job, *, logs: Logs, writer: LogWriter, standing: Standing) -> None:
        committed = standing.committed
        restart = committed.restart or Restart(committed.seq + 1, standing.utterance)
        self._writer = writer
        audio = payload_format(job.start)
        self._sample_bytes = audio.sample_bytes
        self._packet_samples = audio.packet_samples
        self._mark_samples = audio.samples(MARK_SECONDS)
        self._first_seq = restart.seq
        # What was written after the last mark is made again, and not written again.
        self._skip = standing.entries_since
        self._seq = standing.seq - standing.entries_since
        self._sample = committed.upto
        self._utterance = restart.utterance
        self._said_samples = restart.samples
        self._up_seq = committed.seq
        self._unmarked = self._unmarked_samples = 0
        self._ended = False
        self._error: Exception | None = None
        self._due = asyncio.Event()
        self._tail = Tail(
            logs,
            job.key,
            first_seq=self._first_seq,
            deliver=self._deliver,
            failed=self._fail,
        )

    async def run(self) -> None:
        """Work until the client says that no more audio comes.

        Raises:
            LegatoError: If the stream fails.
        """
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                if self._error is not None:
                    raise self._error
                if self._ended:
                    return
                await self._writer.room()
                if self._may_mark:
                    self._writer.append((self._mark(),))
        finally:
            self._tail.close()

    def leave(self) -> None:
        """Stop here; another worker goes on with the next frame."""
        self._fail(GivenBack())

    def _deliver(self, entries: Sequence[Entry]) -> None:
        out: list[Item] = []
        try:
            for entry in entries:
                for item in entry.items:
                    if type(item) is not AudioFrame:
                        self._obey(item, out)
                    elif item.seq >= self._first_seq:
                        self._return(item, out)
            self._append(out)
        except LegatoError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001  top of a callback: a bug ends the stream
            log.critical("echo failed", trace=trace_of(error))
            self._fail(Internal())
        if self._ended or self._is_mark_due:
            self._due.set()

    def _append(self, out: list[Item]) -> None:
        if self._skip:
            skipped = min(self._skip, len(out))
            self._skip -= skipped
            del out[:skipped]
        if self._may_mark and self._writer.has_room:
            out.append(self._mark())
        if out:
            self._writer.append(out)

    @property
    def _is_mark_due(self) -> bool:
        return self._unmarked >= MARK_FRAMES or self._unmarked_samples >= self._mark_samples

    @property
    def _may_mark(self) -> bool:
        """Whether a mark is due and would be true: not before all that is written is made again."""
        return self._is_mark_due and not self._ended and not self._skip

    def _return(self, frame: AudioFrame, out: list[Item]) -> None:
        payload = frame.payload
        seq, sample = self._seq, self._sample
        out.append(AudioFrame(payload, seq, frame.last, 0, sample, 0, self._utterance))
        width = self._sample_bytes
        size = len(payload)
        samples = size // width if width else size and self._packet_samples
        self._seq = seq + 1
        self._sample = sample + samples
        self._said_samples += samples
        self._up_seq = frame.seq
        self._unmarked += 1
        self._unmarked_samples += samples
        if frame.last:
            self._end_utterance(out)

    def _obey(self, item: Item, out: list[Item]) -> None:
        seq: int | None = getattr(item, "seq", None)
        if seq is None or seq < self._first_seq:
            return
        match item:
            case Text():
                raise UnexpectedMessage("an echo takes audio; for text start a synthesis")
            case Finalize() if self._said_samples:
                self._end_utterance(out)
            case Cancel() if self._said_samples and item.utterance >= self._utterance:
                self._end_utterance(out, cancelled=True)
            case StreamEnd():
                if self._said_samples:
                    self._end_utterance(out)
                frames = self._seq - self._utterance
                out.append(StreamEnd(seq=self._seq, frames=frames, samples=self._sample))
                out.append(Committed(seq, upto=self._sample))
                self._ended = True
        self._up_seq = seq
        self._unmarked = MARK_FRAMES

    def _end_utterance(self, out: list[Item], *, cancelled: bool = False) -> None:
        out.append(
            UtteranceEnd(
                seq=self._seq,
                utterance=self._utterance,
                reason="cancelled" if cancelled else "done",
                sample=self._sample,
            )
        )
        self._seq += 1
        self._utterance += 1
        self._said_samples = 0
        self._unmarked = MARK_FRAMES

    def _mark(self) -> Committed:
        self._unmarked = self._unmarked_samples = 0
        restart = Restart(self._up_seq + 1, self._utterance, samples=self._said_samples)
        return Committed(self._up_seq, upto=self._sample, restart=restart)

    def _fail(self, error: Exception) -> None:
        self._tail.close()
        self._error = error
        self._due.set()
