"""One recognition: audio from the up log, text into the down log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from legato.audio import AudioFormat
from legato.bus.base import Committed, Item, Job, Logs, Restart
from legato.errors import Internal, LegatoError, UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Finalize,
    Flush,
    StreamEnd,
    Text,
)
from legato.protocol.payloads import payload_format
from legato.speech import RecognitionRequest
from legato.telemetry.logs import logger, trace_of
from legato.telemetry.metrics import DECODING_DELAY
from legato.worker.calls import EngineCall, EngineLost
from legato.worker.coding import PayloadDecoder
from legato.worker.downlog import DownLog
from legato.worker.frames import Degraded, Heard, Reached
from legato.worker.hearing import Run, message_of, request_for
from legato.worker.inbox import Inbox
from legato.worker.interruption import Interruptible
from legato.worker.pool import EnginePool
from legato.worker.takeover import GivenBack, Standing
from legato.worker.turns import Caller

HAND_OVER: Final = 0.1
"""Seconds of audio that are gathered for one hand-over to the engine."""

MAX_OPEN: Final = 25.0
"""Seconds of audio that an engine may keep open. Then it is made final: a client may have 30 s
under way, and one that waits for credit would wait for ever."""

log = logger("legato.worker.recognition")


class Recognition:
    """Does one recognition job, from its start or from the last sample that was committed.

    While no audio comes, others have the engine's slot. What was not final then is read and heard
    again when there is more, as after a take-over.

    Args:
        job: What to do.
        logs: Of the bus.
        down: To write to.
        standing: Where the stream stands.
        pool: The engine.
        idle_release: Seconds without audio after which the engine's slot is given back.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        job: Job,
        *,
        logs: Logs,
        down: DownLog,
        standing: Standing,
        pool: EnginePool,
        idle_release: float,
        clock: Callable[[], float],
    ) -> None:
        self._job = job
        self._down = down
        self._logs = logs
        self._pool = pool
        self._idle_release = idle_release
        self._clock = clock
        self._audio = AudioFormat(job.start.sample_rate, job.start.channels)
        self._hand_over_bytes = self._audio.samples(HAND_OVER) * self._audio.sample_bytes
        self._decoder = PayloadDecoder(payload_format(job.start))
        self._done = standing.committed
        self._run: Run | None = None
        self._opening = Interruptible()
        self._heard_before = standing.seq > 0
        self._leaving = self._yielding = False
        self._pause: asyncio.Timeout | None = None
        self._begin()

    def _begin(self) -> None:
        """Read on from what is done with."""
        self._decoder.renew()
        committed = self._done
        # Counted here: clients of the articles' protocol number their frames, not their samples.
        self._position = committed.upto - (committed.restart.samples if committed.restart else 0)
        self._seq_end = self._position
        self._frames: deque[tuple[int, int]] = deque()
        self._is_open = committed.restart is not None
        self._unheard = False
        self._inbox = Inbox(
            self._logs,
            self._job.key,
            first_seq=committed.trim_seq + 1,
            interrupted=self._interrupt,
            clock=self._clock,
        )

    async def run(self) -> None:
        """Work until the client says that no more audio comes and everything is written.

        Raises:
            LegatoError: If the stream fails.
            EngineLost: If it should be begun again from where it stands.
        """
        try:
            ended = False
            while not ended:
                item, arrived = await self._next()
                ended = await self._obey(item, arrived)
        finally:
            self._inbox.close()
            self._drop_run()

    def leave(self) -> None:
        """Have `run` end with `GivenBack` after the next final, or now if no engine listens."""
        self._leaving = True
        if self._run is None:
            self._inbox.fail(GivenBack())

    async def _next(self) -> tuple[Item, float]:
        if self._leaving and self._run is None:
            self.leave()
        while self._run is not None and self._inbox.is_empty and not self._yielding:
            left = self._run.active_at + self._idle_release - self._clock()
            if not self._run.call.has_taken_all:
                left = self._idle_release  # it may have a final to say
            if left <= 0:
                self._drop_run()
                self._unheard = self._position > self._done.upto
                break
            try:
                async with asyncio.timeout(left) as self._pause:
                    return await self._inbox.next()
            except TimeoutError:
                continue
            finally:
                self._pause = None
        if self._yielding:
            return await self._yield()
        item, arrived = await self._inbox.next()
        if not self._unheard:
            return item, arrived
        self._inbox.close()
        self._begin()
        return await self._inbox.next()

    async def _yield(self) -> tuple[Item, float]:
        """Let another stream have the slot, and wait for one again with what is not final yet."""
        self._yielding = False
        if self._run is not None:
            self._drop_run()
            if self._position > self._done.upto:
                self._inbox.close()
                self._begin()
        return await self._inbox.next()

    async def _obey(self, item: Item, arrived: float) -> bool:
        match item:
            case AudioFrame():
                await self._hear(item, arrived)
            case Flush(seq=int(seq)):
                await self._end_run()
                self._commit(seq)
            case Finalize(seq=int(seq)):
                await self._finalize(seq)
            case Cancel(seq=int(seq)):
                self._cancel(seq, item.utterance)
            case StreamEnd(seq=int(seq)):
                await self._finalize(seq)
                self._down.end_stream()
                self._commit(seq)
                return True
            case Text():
                raise UnexpectedMessage("a recognition takes audio; for text start a synthesis")
            case _:
                pass
        return False

    async def _hear(self, frame: AudioFrame, arrived: float) -> None:
        # What a worker before us had done with.
        done = max(0, self._done.upto - self._position) * self._audio.sample_bytes
        pcm = await self._decoder.decode(frame.payload)
        start = self._position + min(done, len(pcm)) // self._audio.sample_bytes
        self._position += self._audio.samples_in(pcm)
        self._is_open = True
        if self._position - self._done.upto > self._audio.samples(MAX_OPEN):
            await self._end_run()
            self._commit_upto(start)
        if done < len(pcm) and not self._is_cancelled():
            await self._gather(pcm[done:], start, arrived)
        if frame.last:
            await self._finalize(frame.seq)
        else:
            self._frames.append((frame.seq, self._position))

    async def _gather(self, pcm: bytes, start: int, arrived: float) -> None:
        run = self._run
        if run is None:
            run = self._run = await self._begin_run(start)
        if run is None:
            return
        run.gather(pcm, self._audio.samples_in(pcm), arrived)
        if len(run.gathered) >= self._hand_over_bytes:
            await self._hand_over(run)
            await self._down.room()

    async def _begin_run(self, start: int) -> Run | None:
        """Return a new run, or None if it became vain while it waited for a slot."""
        call = await self._open(request_for(self._job.start, self._audio))
        if call is None:
            return None
        self._down.degraded(False)  # until this call says so
        run = Run(call, start, self._clock())
        run.reader = asyncio.create_task(self._read(run))
        return run

    async def _open(self, request: RecognitionRequest) -> EngineCall | None:
        caller = Caller(tenant=self._job.key.tenant, under_way=self._heard_before)
        self._heard_before = True
        opening = await self._opening.run(
            self._pool.open(request, caller=caller, queued=self._down.queued),
            undo=EngineCall.close,
        )
        return None if opening.cancelled() else opening.result()

    async def _hand_over(self, run: Run) -> None:
        pcm = bytes(run.gathered)
        run.gathered.clear()
        if pcm:
            await run.call.feed(pcm)

    async def _end_run(self) -> None:
        """Make final what is open."""
        run = self._run
        if run is None or run.reader is None:
            return
        await self._hand_over(run)
        run.call.end()
        await asyncio.wait((run.reader,))
        self._drop_run()
        self._inbox.check()

    async def _finalize(self, seq: int) -> None:
        await self._end_run()
        if self._is_open:
            self._down.end_utterance("cancelled" if self._is_cancelled() else "done")
            self._is_open = False
        self._commit(seq)

    def _cancel(self, seq: int, utterance: int) -> None:
        if self._is_open and utterance >= self._down.utterance:
            self._drop_run()
            self._down.end_utterance("cancelled")
            self._is_open = False
            self._commit(seq)
        elif self._is_open:
            self._frames.append((seq, self._position))
        else:
            self._commit(seq)

    def _commit(self, seq: int) -> None:
        """Append what is there: everything up to entry `seq` is done with."""
        self._frames.clear()
        self._seq_end = self._position
        restart = Restart(seq + 1, self._down.utterance) if self._is_open else None
        self._done = Committed(seq, upto=self._position, restart=restart)
        self._down.commit(self._done)
        self._down.write()

    def _commit_upto(self, sample: int) -> None:
        """Append what is there: all audio before `sample` is done with."""
        seq = self._done.seq
        while self._frames and self._frames[0][1] <= sample:
            seq, self._seq_end = self._frames.popleft()
        if sample > self._done.upto:
            within = Restart(seq + 1, self._down.utterance, samples=sample - self._seq_end)
            self._done = Committed(seq, upto=sample, restart=within)
            self._down.commit(self._done)
        self._down.write()

    async def _read(self, run: Run) -> None:
        try:
            async for output in run.call:
                run.active_at = self._clock()
                self._write_down(run, output)
        except (LegatoError, EngineLost) as error:
            self._inbox.fail(error)
        except Exception as error:  # noqa: BLE001  top of the task: a bug, which ends the stream
            log.critical("a transcript could not be written", trace=trace_of(error))
            self._inbox.fail(Internal())

    def _write_down(self, run: Run, output: object) -> None:
        if isinstance(output, Reached):
            sample = min(run.start + output.sample, run.end)
            self._commit_upto(sample)
            run.forget(sample)
            self._make_way()
        elif isinstance(output, Degraded):
            self._down.degraded(output.active)
        elif isinstance(output, Heard):
            heard = output.transcript
            if not heard.final and heard.text == run.shown:
                return
            run.shown = "" if heard.final else heard.text
            message = message_of(run, heard, self._audio, self._down.utterance, self._clock())
            self._down.transcript(message)
            if heard.final:
                if message.decoding_delay is not None:
                    DECODING_DELAY.labels(self._job.engine).observe(message.decoding_delay)
                self._commit_upto(message.end)
                run.forget(message.end)
                self._make_way()
            else:
                self._down.write()

    def _make_way(self) -> None:
        """At a place where nothing is lost: leave if asked to, or let others have the slot."""
        if self._leaving:
            self._inbox.fail(GivenBack())
        self._yielding = self._pool.is_pressed
        pause = self._pause
        if self._yielding and pause is not None and not pause.expired():
            pause.reschedule(self._clock())

    def _is_cancelled(self) -> bool:
        return self._inbox.cancels(self._down.utterance)

    def _interrupt(self) -> None:
        if self._inbox.failed or self._is_cancelled():
            self._opening.cut()
        if self._run is not None and self._is_cancelled():
            self._run.call.close()

    def _drop_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.call.close()
