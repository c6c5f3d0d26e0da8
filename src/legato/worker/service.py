"""The engine's side of one call: a thread that pulls an engine's blocking iterator.

It speaks the request's format to the worker and the engine's own to the engine. The same code
serves in an engine process and, for engines that never block, in the worker.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Protocol, TypeVar

from legato.audio import AudioChunk, AudioFormat
from legato.codecs.resample import Resampler
from legato.engines.base import Checkpoint, EngineInfo, Recognizer, Straining, Synthesizer
from legato.errors import EngineFailed, Internal, LegatoError
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.speech.punctuation import unpunctuated
from legato.speech.sound.treatment import Treated
from legato.telemetry.logs import trace_of
from legato.worker.board import SlotState
from legato.worker.frames import (
    PIECE_SECONDS,
    WINDOW_BYTES,
    Abandon,
    CallInput,
    CallOutput,
    Consumed,
    Degraded,
    EndInput,
    Failed,
    Feed,
    Finished,
    Grant,
    Heard,
    Listen,
    Reached,
    Sound,
    Speak,
)

Engine = Synthesizer | Recognizer
T = TypeVar("T")


class SlotBoard(Protocol):
    """Where a service tells what it is doing."""

    def put(self, slot: int, state: SlotState, taken: int = 0) -> None:
        """Tell where the call in `slot` is, and how many commands it has taken."""


Send = Callable[[CallOutput], None]
"""Takes an output of a call; called in the service's thread."""


class Abandoned(BaseException):
    """Unwinds an engine that waits for input which will not come; not for `except Exception`."""


class Service(ABC):
    """Serves one call.

    Args:
        command: What is asked.
        info: Of the engine.
        board: Where to tell what it is doing.
        send: Takes each output.
    """

    def __init__(
        self, command: Speak | Listen, info: EngineInfo, *, board: SlotBoard, send: Send
    ) -> None:
        self.call = command.call
        self._slot = command.slot
        self._info = info
        self._board = board
        self._send = send
        # Bounded by the windows that the worker keeps to.
        self._commands: SimpleQueue[CallInput] = SimpleQueue()
        self._input: deque[str | bytes] = deque()
        self._input_ended = False
        self._taken = 0
        self._abandoned = False
        self._interrupt: Callable[[], None] | None = None
        self._credit_bytes = WINDOW_BYTES

    def start(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self._run, name=f"call-{self.call}", daemon=True).start()

    def deliver(self, command: CallInput) -> None:
        """Take word from the worker; returns at once, from any thread."""
        if isinstance(command, Abandon):
            self._abandoned = True
            interrupt = self._interrupt
            if interrupt is not None:
                interrupt()
        self._commands.put(command)

    @abstractmethod
    def _serve(self) -> None:
        """Run the engine from first input to last output."""

    def _run(self) -> None:
        last: CallOutput = Finished(self.call)
        self._put(SlotState.INSIDE)
        try:
            self._serve()
        except Abandoned:
            pass  # the worker asked for it: there is nothing to tell
        except LegatoError as error:
            last = Failed(self.call, error.code, error.message, error.facts(), trace_of(error))
        except BaseException as error:  # noqa: BLE001  top of the thread; engines raise anything
            message = f"{self._info.name} raised {type(error).__name__}. {EngineFailed.advice}"
            last = Failed(self.call, EngineFailed.code, message, {}, trace_of(error))
        self._put(SlotState.FREE)
        self._send(last)

    def _outputs(self, outputs: Iterable[T]) -> Iterator[T]:
        """Yield what the engine yields until the call is abandoned, and let the engine clean up.

        An iterator with a method `interrupt`, which any thread may call, is told of it while it
        waits.
        """
        self._interrupt = getattr(outputs, "interrupt", None)
        try:
            # It may have been abandoned before there was anything to interrupt.
            for output in () if self._abandoned else outputs:
                if self._abandoned:
                    return
                yield output
        finally:
            close = getattr(outputs, "close", None)
            if close is not None:
                close()

    def _pieces(self) -> Iterator[str | bytes]:
        while True:
            while not self._input and not self._input_ended:
                self._wait()
            if not self._input:
                return
            piece = self._input.popleft()
            self._send(Consumed(self.call, len(piece)))
            yield piece

    def _wait(self) -> None:
        """Take the next command, blocking until there is one.

        Raises:
            Abandoned: If nothing more is wanted.
        """
        self._put(SlotState.WAITING)
        command = self._commands.get()
        self._taken += 1
        self._put(SlotState.INSIDE)
        if self._abandoned:
            raise Abandoned
        match command:
            case Feed(text=str(text)):
                self._input.append(text)
            case Feed(pcm=bytes(pcm)):
                self._input.append(pcm)
            case EndInput():
                self._input_ended = True
            case Grant():
                self._credit_bytes += command.size_bytes
            case Abandon():
                raise Abandoned

    def _put(self, state: SlotState) -> None:
        self._board.put(self._slot, state, self._taken)


class SynthesisService(Service):
    """Serves a synthesis; see `Service`."""

    def __init__(
        self, command: Speak, engine: Synthesizer, *, board: SlotBoard, send: Send
    ) -> None:
        super().__init__(command, engine.info, board=board, send=send)
        self._engine = engine
        self._request: SynthesisRequest = command.request

    def _serve(self) -> None:
        wanted = self._request.format
        native = self._info.format or wanted
        resampler = None if native == wanted else Resampler(native, wanted)
        treatment = self._request.treatment
        treated = None if treatment is None else Treated(treatment, native)
        texts = (piece for piece in self._pieces() if isinstance(piece, str))
        for chunk in self._outputs(self._engine.synthesize(self._request, texts)):
            if chunk.format != native:
                raise EngineFailed(f"{self._info.name} gave {chunk.format}, declared {native}")
            for piece in _pieces_of(chunk):
                pcm = piece if treated is None else treated.push(piece)
                self._emit(pcm if resampler is None else resampler.push(pcm))
        if self._abandoned:
            return
        last = b"" if treated is None else treated.end()
        self._emit(last if resampler is None else resampler.push(last) + resampler.flush())

    def _emit(self, pcm: bytes) -> None:
        while self._credit_bytes < len(pcm):
            self._wait()
        if self._abandoned:
            raise Abandoned
        if pcm:
            self._credit_bytes -= len(pcm)
            self._send(Sound(self.call, pcm))


class RecognitionService(Service):
    """Serves a recognition; see `Service`."""

    def __init__(
        self, command: Listen, engine: Recognizer, *, board: SlotBoard, send: Send
    ) -> None:
        super().__init__(command, engine.info, board=board, send=send)
        self._engine = engine
        self._strain = engine if isinstance(engine, Straining) else None
        self._degraded = False
        self._request: RecognitionRequest = command.request

    def _serve(self) -> None:
        given = self._request.format
        native = self._info.format or given
        request = replace(self._request, format=native)
        rate, native_rate = given.sample_rate, native.sample_rate
        for output in self._outputs(self._engine.recognize(request, self._audio(given, native))):
            self._note_strain()
            if isinstance(output, Checkpoint):
                self._send(Reached(self.call, output.sample * rate // native_rate))
                continue
            start, end = (at * rate // native_rate for at in (output.start, output.end))
            heard = replace(output, start=start, end=end)
            plain = request.punctuation is False
            self._send(Heard(self.call, unpunctuated(heard) if plain else heard))

    def _note_strain(self) -> None:
        degraded = self._strain is not None and self._strain.degraded
        if degraded != self._degraded:
            self._degraded = degraded
            self._send(Degraded(self.call, degraded))

    def _audio(self, given: AudioFormat, native: AudioFormat) -> Iterator[AudioChunk]:
        resampler = None if given == native else Resampler(given, native)
        sample = 0
        for piece in self._pieces():
            if isinstance(piece, str):
                continue
            self._note_strain()
            pcm = piece if resampler is None else resampler.push(piece)
            if pcm:
                yield AudioChunk(pcm, native, sample)
                sample += len(pcm) // native.sample_bytes
        tail = b"" if resampler is None else resampler.flush()
        if tail:
            yield AudioChunk(tail, native, sample)


def service_for(
    command: Speak | Listen, engine: Engine, *, board: SlotBoard, send: Send
) -> Service:
    """Return what serves `command`.

    Raises:
        Internal: If `engine` is of another kind.
    """
    if isinstance(command, Speak) and isinstance(engine, Synthesizer):
        return SynthesisService(command, engine, board=board, send=send)
    if isinstance(command, Listen) and isinstance(engine, Recognizer):
        return RecognitionService(command, engine, board=board, send=send)
    raise Internal(f"{engine.info.name} was asked to {type(command).__name__.lower()}")


def _pieces_of(chunk: AudioChunk) -> Iterator[bytes]:
    """Cut what an engine gives at once, so that the first of it is under way at once."""
    step = chunk.format.samples(PIECE_SECONDS) * chunk.format.sample_bytes
    for start in range(0, len(chunk.pcm), step):
        yield chunk.pcm[start : start + step]
