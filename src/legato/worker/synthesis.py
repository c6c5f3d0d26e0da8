"""One synthesis: text from the up log, audio into the down log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing
from typing import Final

from legato.audio import AudioFormat
from legato.bus.base import Item, Job, Logs
from legato.errors import TextTooLong, UnexpectedMessage, UnsupportedText
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, Flush, StreamEnd, Text
from legato.telemetry.metrics import FIRST_AUDIO
from legato.worker.cache import SpeechCache
from legato.worker.config import WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.inbox import Inbox
from legato.worker.interruption import Interruptible
from legato.worker.ledger import Ledger
from legato.worker.pace import Pace
from legato.worker.prompts import Prompts
from legato.worker.rendering import Rendering
from legato.worker.routing import Router
from legato.worker.script import Line, Script, text_options
from legato.worker.takeover import GivenBack, Standing

MARK_SECONDS: Final = 0.5
"""Audio after which a mark is written within a segment, so that the log can be trimmed."""

HELD_BYTES: Final = 8 << 20
"""Audio held back where nothing is to be streamed: 4 minutes of 16 kHz mono. A longer utterance
goes out in blocks of this size."""

UTTERANCE_FAULTS: Final = (UnsupportedText, TextTooLong)
"""Faults of what was said: the utterance ends, the stream goes on."""


class _Untaken(Exception):
    """The listener does not take what is spoken: the slot is for others."""


class Synthesis:
    """Does one synthesis job, from its start or from where another worker left it.

    Segments are spoken one after the other. What makes the next one come in time is the log: it
    takes audio much faster than it is played. A slot of the engine is held while a segment is
    spoken, and given back when the log is full for long: then the segment is spoken again, without
    what was written of it, as after a take-over.

    Args:
        job: What to do.
        logs: Of the bus.
        down: To write to.
        standing: Where the stream stands.
        router: Knows the engines.
        cache: Of the worker.
        config: For the bounds.
        clock: Monotonic seconds.
        prompts: Where the voices of tenants' own come from.
    """

    def __init__(
        self,
        job: Job,
        *,
        logs: Logs,
        down: DownLog,
        standing: Standing,
        router: Router,
        cache: SpeechCache,
        config: WorkerConfig,
        clock: Callable[[], float],
        prompts: Prompts | None = None,
    ) -> None:
        self._job = job
        self._down = down
        self._max_text_chars = config.max_text_chars
        self._idle_release = config.idle_release
        self._clock = clock
        self._audio = AudioFormat(job.start.sample_rate, job.start.channels)
        self._mark_samples = self._audio.samples(MARK_SECONDS)
        self._ledger = Ledger(standing)
        self._skip_bytes = self._ledger.spoken_samples * self._audio.sample_bytes
        # What a client of the next epoch holds may end in any segment of its utterance.
        self._skips_on = job.start.continues is not None and self._ledger.spoken_chars == 0
        self._text = text_options(job.start, config.lexicon)
        self._pace = Pace(job.key.tenant, clock, patient=not job.start.streaming)
        self._rendering = self._renders(router, cache, config, prompts)
        self._script = Script(self._text, job.start.language)
        self._made_sample = standing.sample - self._ledger.spoken_samples
        self._held = bytearray()
        self._began: float | None = None
        self._said_something = standing.sounding
        self._over = False
        self._speaking = Interruptible()
        self._leaving = False
        self._inbox = Inbox(
            logs, job.key, first_seq=standing.first_seq, interrupted=self._interrupt, clock=clock
        )

    def _renders(
        self, router: Router, cache: SpeechCache, config: WorkerConfig, prompts: Prompts | None
    ) -> Rendering:
        return Rendering(
            self._job,
            self._audio,
            self._text,
            down=self._down,
            pace=self._pace,
            router=router,
            cache=cache,
            config=config,
            prompts=prompts,
        )

    async def run(self) -> None:
        """Work until the client says that no more text comes and everything is written.

        Raises:
            LegatoError: If the stream fails.
            EngineLost: If it should be begun again from where it stands.
        """
        try:
            ended = False
            while not ended:
                item, arrived = await self._inbox.next()
                ended = await self._obey(item, arrived)
                if self._leaving and not ended:
                    self.leave()
        finally:
            self._inbox.close()

    def leave(self) -> None:
        """Have `run` end with `GivenBack` once no utterance is open."""
        self._leaving = True
        if not self._ledger.is_open:
            self._inbox.fail(GivenBack())

    async def _obey(self, item: Item, arrived: float) -> bool:
        match item:
            case Text(seq=int(seq)):
                await self._take(seq, item.text, arrived)
            case Flush(seq=int(seq)):
                await self._flush(seq)
            case Finalize(seq=int(seq)):
                await self._finalize(seq)
            case Cancel(seq=int(seq)):
                self._cancel(seq, item.utterance)
            case StreamEnd(seq=int(seq)):
                await self._finalize(seq)
                self._down.end_stream()
                self._write()
                return True
            case AudioFrame():
                raise UnexpectedMessage("a synthesis takes text; for audio start a recognition")
            case _:
                passed: int | None = getattr(item, "seq", None)
                if passed is not None:
                    self._ledger.pass_over(passed)
        return False

    async def _take(self, seq: int, text: str, arrived: float) -> None:
        ledger = self._ledger
        if not ledger.is_open:
            self._began = arrived
            # A worker before us may have ended it.
            self._over = ledger.utterance < self._down.utterance
        ledger.take(seq, len(text))
        if self._is_silenced():
            self._discard()
        elif ledger.chars > self._max_text_chars:
            self._fail(
                TextTooLong(
                    f"an utterance takes {self._max_text_chars} characters at most; finalize"
                    " earlier and go on in another"
                )
            )
        else:
            await self._say(self._script.feed(text))

    async def _flush(self, seq: int) -> None:
        self._ledger.pass_over(seq)
        # Of a text that is read as a whole nothing is made yet, whose end could be noted.
        if self._ledger.is_open and not self._is_silenced() and not self._script.whole:
            await self._say(self._script.flush())
            self._ledger.bound(self._ledger.chars, self._made_sample)
        self._write()

    async def _finalize(self, seq: int) -> None:
        if not self._ledger.is_open:
            self._ledger.pass_over(seq)
        else:
            await self._finish_speaking()
            self._close(seq)
        self._write()

    async def _finish_speaking(self) -> None:
        """Say what is left of the utterance, and write what was held back."""
        if not self._is_silenced():
            await self._say(self._script.finish())
        if self._is_silenced():
            return
        if not self._said_something:
            self._fail(UnsupportedText("there is nothing to say: no letter and no number"))
            return
        if self._held:
            await self._interruptible(self._release())
        if self._down.is_behind and not self._is_silenced():
            await self._interruptible(self._down.finish())

    def _cancel(self, seq: int, utterance: int) -> None:
        if self._ledger.is_open and utterance >= self._ledger.utterance:
            self._close(seq, cancelled=True)
        else:
            self._ledger.pass_over(seq)
        self._write()

    def _close(self, seq: int, *, cancelled: bool = False) -> None:
        if not self._over:
            cancelled = cancelled or self._is_cancelled()
            self._down.end_utterance("cancelled" if cancelled else "done")
        self._ledger.close(seq, self._down.sample)
        self._begin_anew()
        self._over = False

    def _fail(self, error: TextTooLong | UnsupportedText) -> None:
        """End the utterance with a fault; the rest of its text is discarded as it comes."""
        self._down.end_utterance("failed", error)
        self._over = True
        self._begin_anew()
        self._discard()

    def _discard(self) -> None:
        self._ledger.drop()
        self._write()

    def _begin_anew(self) -> None:
        self._script = Script(self._text, self._job.start.language)
        self._made_sample = self._down.sample
        self._held.clear()
        self._skip_bytes = 0
        self._said_something = False
        self._began = None

    async def _say(self, lines: Iterable[Line]) -> None:
        """Say lines, unless the utterance is cancelled; it is not when this begins."""
        try:
            for line in lines:
                self._said_something = self._said_something or line.speakable
                if line.end <= self._ledger.spoken_chars:
                    continue
                if line.speakable or line.pause:
                    await self._interruptible(self._speak(line))
                if self._is_cancelled():
                    return
                self._end_skip()
                self._ledger.bound(line.end, self._made_sample)
                self._write_audio()
        except UTTERANCE_FAULTS as error:
            self._fail(error)

    def _end_skip(self) -> None:
        """A segment was made that is shorter than before: nothing of the next is left out."""
        if not self._skips_on:
            self._made_sample += self._skip_bytes // self._audio.sample_bytes
            self._skip_bytes = 0

    async def _speak(self, line: Line) -> None:
        made = self._made_sample
        while True:
            try:
                if line.speakable:
                    async with aclosing(self._rendering.speak(line)) as pieces:
                        async for pcm in pieces:
                            await self._sound(pcm)
                for pcm in _silence(line.pause, self._audio):
                    await self._sound(pcm)
                return
            except _Untaken:
                self._skip_bytes = (self._made_sample - made) * self._audio.sample_bytes
                self._made_sample = made
                await self._down.room()

    async def _sound(self, pcm: bytes) -> None:
        self._made_sample += len(pcm) // self._audio.sample_bytes
        skipped = min(self._skip_bytes, len(pcm))
        self._skip_bytes -= skipped
        if not (pcm := pcm[skipped:]):
            return
        if self._job.start.streaming:
            await self._give(pcm)
            return
        self._held += pcm
        if len(self._held) >= HELD_BYTES:
            await self._release()

    async def _release(self) -> None:
        held = self._held
        step = self._mark_samples * self._audio.sample_bytes
        while held:
            piece = bytes(held[:step])
            del held[:step]
            await self._give(piece)

    async def _give(self, pcm: bytes) -> None:
        await self._down.say(pcm)
        self._write_audio()
        now = self._clock()
        self._pace.make(self._audio.seconds(self._audio.samples_in(pcm)))
        if self._began is not None:
            FIRST_AUDIO.labels(self._job.engine).observe(now - self._began)
            self._began = None
        try:
            async with asyncio.timeout(self._idle_release if self._rendering.has_slot else None):
                await self._down.room()
        except TimeoutError:
            raise _Untaken from None
        finally:
            self._pace.wait(now)

    def _write_audio(self) -> None:
        """Append the audio that is there, with a mark if one is due."""
        sample = self._down.sample
        if self._ledger.advance(sample) or self._ledger.unmarked(sample) >= self._mark_samples:
            self._down.commit(self._ledger.mark(sample))
        self._down.write()

    def _write(self) -> None:
        """Append what is there, with a mark."""
        self._ledger.advance(self._down.sample)
        self._down.commit(self._ledger.mark(self._down.sample, over=self._over))
        self._down.write()

    def _is_cancelled(self) -> bool:
        return self._inbox.cancels(self._ledger.utterance)

    def _is_silenced(self) -> bool:
        return self._over or self._is_cancelled()

    def _interrupt(self) -> None:
        if self._inbox.failed or self._is_cancelled():
            self._speaking.cut()

    async def _interruptible(self, work: Coroutine[None, None, None]) -> None:
        """Do `work` to its end, or until its utterance is cancelled or the stream is gone."""
        task = await self._speaking.run(work)
        self._inbox.check()
        if not task.cancelled():
            task.result()


def _silence(seconds: float, audio: AudioFormat) -> Iterator[bytes]:
    """Yield silence in pieces between which a mark may be written."""
    samples = audio.samples(seconds)
    step = audio.samples(MARK_SECONDS)
    for start in range(0, samples, step):
        yield bytes(min(step, samples - start) * audio.sample_bytes)
