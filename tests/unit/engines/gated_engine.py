"""A batch engine whose steps a test lets happen one by one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Queue

from legato.audio import AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.batching import Progress
from legato.errors import UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest

FORMAT = AudioFormat(8_000)
DEADLINE = 20.0


@dataclass(eq=False)
class Slot:
    name: str
    text: deque[str] = field(default_factory=deque)


class GatedEngine:
    """Says one character a step, as `seconds` of audio that holds nothing but its code.

    Some characters do harm: "!" fails the step, "?" the stream, "#" its feeding, "%" ends the
    thread. The voice is the stream's name; it has none called "nobody".
    """

    max_batch = 4
    info = EngineInfo(name="gated", kind=EngineKind.SYNTHESIZE, version="1", format=FORMAT, slots=9)

    def __init__(self, *, open_gate: bool = False, seconds: float = 0.1) -> None:
        self.began: Queue[str] = Queue()
        self.released: Queue[str] = Queue()
        self._gate = threading.Semaphore(0)
        self._is_open = open_gate
        self._samples = FORMAT.samples(seconds)

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def open(self, request: SynthesisRequest) -> Slot:
        if request.voice == "nobody":
            raise UnknownVoice("nobody is no voice")
        return Slot(request.voice or "")

    def feed(self, slot: Slot, text: str) -> None:
        if "#" in text:
            raise UnsupportedText("# cannot be spoken")
        slot.text.extend(text)

    def end(self, slot: Slot) -> None:
        return

    def release(self, slot: Slot) -> None:
        self.released.put(slot.name)

    def step(self, slots: Sequence[Slot]) -> list[Progress[bytes]]:
        self.began.put("".join(slot.name for slot in slots))
        if not self._is_open:
            assert self._gate.acquire(timeout=DEADLINE)
        return [self._said(slot) for slot in slots]

    def let(self, steps: int = 1) -> None:
        """Let steps end."""
        self._gate.release(steps)

    def next_step(self) -> str:
        """Return the names of the streams in the next step that has begun, in order."""
        return self.began.get(timeout=DEADLINE)

    def _said(self, slot: Slot) -> Progress[bytes]:
        if not slot.text:
            return Progress()
        character = slot.text.popleft()
        if character == "!":
            raise ZeroDivisionError
        if character == "%":
            raise SystemExit
        if character == "?":
            return Progress(error=UnsupportedText("? cannot be spoken"))
        pcm = ord(character).to_bytes(2, "little") * self._samples
        return Progress((pcm,), more=bool(slot.text))
