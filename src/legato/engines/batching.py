"""The port of engines that do one step for many streams at once, made ordinary engines of.

Such an engine keeps the state of each stream apart and computes the next bit of many in one go, as
networks do whose weights cost more to read than to use. Its author writes no thread and no lock;
`BatchedSynthesizer` and `BatchedRecognizer` decide who is in each step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Generic, Protocol, TypeVar

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint, EngineInfo
from legato.engines.batch_seat import Progress, Seat, Turn
from legato.engines.stepper import Stepper
from legato.errors import UnsupportedFormat
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript

__all__ = [
    "BatchRecognizer",
    "BatchSynthesizer",
    "BatchedRecognizer",
    "BatchedSynthesizer",
    "Progress",
]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741  input
O = TypeVar("O")  # noqa: E741  output

MAX_WAIT: Final = 0.003
"""Seconds that a step waits at most for streams that were in the last one."""

PIECE: Final = 0.2
"""Seconds of audio handed out at once, so that a cancel need not wait for more."""


class BatchSynthesizer(Protocol[S]):
    """Text in, audio out, a step of many streams at a time; `S` is the state of one stream.

    All methods are called from one thread, never two at once. What `open` and `feed` take, all
    streams wait for: work belongs into `step`. An exception of `open`, `feed` or `end` ends its
    stream alone; one of `step` ends all that are in it.

    Attributes:
        info: As of any engine; `slots` is how many streams may be open.
        max_batch: Streams that one step takes.
    """

    info: EngineInfo
    max_batch: int

    def load(self) -> None:
        """Load weights and warm up, also with a full batch.

        Raises:
            EngineUnavailable: If package or weights are missing; names the way to get them.
        """

    def open(self, request: SynthesisRequest) -> S:
        """Return the state of a new stream.

        Raises:
            UnknownVoice: If `request.voice` is not among `info.voices`.
        """

    def feed(self, slot: S, text: str) -> None:
        """Give a stream more text.

        Raises:
            UnsupportedText: If a character cannot be spoken.
        """

    def end(self, slot: S) -> None:
        """Say that no more text follows."""

    def step(self, slots: Sequence[S]) -> Sequence[Progress[bytes]]:
        """Go on with 1 to `max_batch` streams by one step, which should take well below 200 ms.

        Returns:
            For each of `slots` the audio it made, s16le in `info.format` (or the request's where
            that is None), and whether it has more to do.
        """

    def release(self, slot: S) -> None:
        """Free what a stream has; it may be anywhere in its work."""

    def close(self) -> None:
        """Free weights and devices."""


class BatchRecognizer(Protocol[S]):
    """Audio in, transcripts out, a step of many streams at a time; see `BatchSynthesizer`."""

    info: EngineInfo
    max_batch: int

    def load(self) -> None:
        """Load weights and warm up, also with a full batch.

        Raises:
            EngineUnavailable: If package or weights are missing; names the way to get them.
        """

    def open(self, request: RecognitionRequest) -> S:
        """Return the state of a new stream."""

    def feed(self, slot: S, audio: AudioChunk) -> None:
        """Give a stream more audio, in `info.format` (or the request's where that is None)."""

    def end(self, slot: S) -> None:
        """Say that no more audio follows, so that what is open becomes final."""

    def step(self, slots: Sequence[S]) -> Sequence[Progress[Transcript | Checkpoint]]:
        """Go on with 1 to `max_batch` streams by one step; see `BatchSynthesizer.step`."""

    def release(self, slot: S) -> None:
        """Free what a stream has; it may be anywhere in its work."""

    def close(self) -> None:
        """Free weights and devices."""


class BatchedSynthesizer(Generic[S]):
    """A `Synthesizer` of a `BatchSynthesizer`.

    Args:
        engine: It.
        max_wait: Seconds that a step waits at most for streams that were in the last one.
        clock: Monotonic seconds.

    Attributes:
        info: Of the engine.
        engine: It; not to be touched while streams are open.
        steps: Who is in each step.
    """

    def __init__(
        self,
        engine: BatchSynthesizer[S],
        *,
        max_wait: float = MAX_WAIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.info = engine.info
        self.engine = engine
        self.steps: Stepper[S, SynthesisRequest, str, bytes] = Stepper(
            engine,
            max_wait=max_wait,
            clock=clock,
            seconds=self._seconds,
            spare=lambda request: request.spare,
        )

    @property
    def add_command(self) -> str | None:
        """What the user types to add the engine, where it says so."""
        return _add_command(self.engine)

    def check(self) -> None:
        """Look for packages and weights, if the engine can."""
        _check(self.engine)

    def load(self) -> None:
        """Load the engine."""
        self.engine.load()

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        """Speak `text` along with the other streams."""
        return _Speech(self.steps, request, text, self.info.format or request.format)

    def close(self) -> None:
        """End all streams and free the engine."""
        self.steps.close()
        self.engine.close()

    def _seconds(self, request: SynthesisRequest, pcm: bytes) -> float:
        form = self.info.format or request.format
        return form.seconds(len(pcm) // form.sample_bytes)


class BatchedRecognizer(Generic[S]):
    """A `Recognizer` of a `BatchRecognizer`; see `BatchedSynthesizer`."""

    def __init__(
        self,
        engine: BatchRecognizer[S],
        *,
        max_wait: float = MAX_WAIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.info = engine.info
        self.engine = engine
        self.steps: Stepper[S, RecognitionRequest, AudioChunk, Transcript | Checkpoint] = Stepper(
            engine, max_wait=max_wait, clock=clock
        )

    @property
    def add_command(self) -> str | None:
        """What the user types to add the engine, where it says so."""
        return _add_command(self.engine)

    def check(self) -> None:
        """Look for packages and weights, if the engine can."""
        _check(self.engine)

    def load(self) -> None:
        """Load the engine."""
        self.engine.load()

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        """Write down `audio` along with the other streams."""
        form = self.info.format or request.format
        return _Stream(self.steps, request, (_checked(chunk, form) for chunk in audio))

    def close(self) -> None:
        """End all streams and free the engine."""
        self.steps.close()
        self.engine.close()


class _Stream(Generic[S, I, O]):
    """The blocking iterator of one stream: takes what the steps gave, gives what they want.

    Nothing is opened before the first output is asked for. `interrupt` may be called from any
    thread, all else is for one.
    """

    def __init__(self, steps: Stepper[S, Any, I, O], request: Any, pieces: Iterable[I]) -> None:
        self._steps = steps
        self._request = request
        self._pieces = iter(pieces)
        self._seat: Seat[S, Any, I, O] | None = None
        self._over = threading.Event()

    def __iter__(self) -> Iterator[O]:
        return self

    def __next__(self) -> O:
        try:
            return self._next()
        except BaseException:
            self.close()
            raise

    def _next(self) -> O:
        while not self._over.is_set():
            if self._seat is None:
                # With its first piece, so that it is in the next step.
                self._seat = self._steps.join(self._request, *islice(self._pieces, 1))
                continue  # it may have been interrupted before there was a seat to leave
            taken = self._steps.take(self._seat)
            if taken is Turn.OVER:
                break
            if taken is not Turn.INPUT:
                return taken
            self._feed(self._seat)
        raise StopIteration

    def _feed(self, seat: Seat[S, Any, I, O]) -> None:
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._steps.end(seat)
        else:
            self._steps.feed(seat, piece)

    def interrupt(self) -> None:
        """Have a `next` that waits end with nothing."""
        self._over.set()
        if self._seat is not None:
            self._steps.leave(self._seat)

    def close(self) -> None:
        """Leave; returns when the engine has freed what the stream had."""
        self.interrupt()
        if self._seat is not None:
            self._steps.left(self._seat)


class _Speech(Generic[S]):
    """A stream of audio with positions, in short pieces."""

    def __init__(
        self,
        steps: Stepper[S, SynthesisRequest, str, bytes],
        request: SynthesisRequest,
        text: Iterable[str],
        form: AudioFormat,
    ) -> None:
        self._stream: _Stream[S, str, bytes] = _Stream(steps, request, text)
        self._format = form
        self._piece_bytes = form.frame_bytes(PIECE)
        self._pcm = b""
        self._sample = 0
        self.interrupt = self._stream.interrupt
        self.close = self._stream.close

    def __iter__(self) -> Iterator[AudioChunk]:
        return self

    def __next__(self) -> AudioChunk:
        while not self._pcm:
            self._pcm = next(self._stream)
        pcm, self._pcm = self._pcm[: self._piece_bytes], self._pcm[self._piece_bytes :]
        chunk = AudioChunk(pcm, self._format, self._sample)
        self._sample += chunk.samples
        return chunk


def _checked(chunk: AudioChunk, form: AudioFormat) -> AudioChunk:
    if chunk.format != form:
        raise UnsupportedFormat(f"{form} was announced, {chunk.format} came")
    return chunk


def _add_command(engine: object) -> str | None:
    command = getattr(engine, "add_command", None)
    return command if isinstance(command, str) else None


def _check(engine: object) -> None:
    check = getattr(engine, "check", None)
    if callable(check):
        check()
