"""A batch engine in small: a recurrent network that drives a bank of tones, with real arithmetic.

The network is what makes batches pay: its weights are read once a step, for one stream or for
sixteen. Its numbers are small integers, whose sums float32 holds exactly: a stream's samples do not
depend on the order in which a matrix product adds, which changes with the size of the batch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_float, to_int16
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.engines.batching import BatchedRecognizer, BatchedSynthesizer, Progress
from legato.errors import UnknownVoice
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript, Voice

FORMAT: Final = AudioFormat(16_000)
STEP: Final = 0.08
"""Seconds of audio that a step makes, or hears."""

LEVELS: Final = 16
"""Values of a unit: 0 to 15. Sums of 15 times as many as there are units stay below 2**24."""

PARTIALS: Final = 8
SEGMENT_STEPS: Final = 10


class Network:
    """x becomes (W x) mod 16, for many x at once.

    Args:
        units: Width; the weights take 4 `units`² bytes.
    """

    def __init__(self, units: int) -> None:
        self.units = units
        rng = np.random.default_rng(1)
        self._weights = rng.integers(-1, 2, (units, units)).astype(np.float32)

    def start(self, seed: int) -> NDArray[np.float32]:
        """Return the first state of a stream."""
        return np.random.default_rng(seed).integers(0, LEVELS, self.units).astype(np.float32)

    def step(self, states: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Return the next state of each stream."""
        after = np.mod(self._weights @ np.stack(states, axis=1), LEVELS)
        return [np.ascontiguousarray(after[:, column]) for column in range(len(states))]


@dataclass(slots=True, eq=False)
class Speaking:
    """What is kept of a stream that is spoken."""

    state: NDArray[np.float32]
    speed: float
    text: deque[str] = field(default_factory=deque)
    sample: int = 0


class ToneBank:
    """Eight partials of a pitch for each character, as loud as the network says."""

    def __init__(self, *, units: int = 256, max_batch: int = 16, slots: int = 64) -> None:
        self.info = EngineInfo(
            name="tone-bank",
            kind=EngineKind.SYNTHESIZE,
            version="1",
            format=FORMAT,
            voices=(Voice(name="bank", engine="tone-bank", languages=("mul",)),),
            slots=slots,
            deterministic=True,
            licence="Apache-2.0",
        )
        self.max_batch = max_batch
        self._units = units

    def load(self) -> None:
        self._network = Network(self._units)

    def open(self, request: SynthesisRequest) -> Speaking:
        if request.voice not in (None, "bank"):
            raise UnknownVoice(f"tone-bank has no voice {request.voice!r}, only 'bank'")
        # No seed: another worker that goes on from any piece must say the same.
        return Speaking(self._network.start(1), request.speed)

    def feed(self, slot: Speaking, text: str) -> None:
        slot.text.extend(text)

    def end(self, slot: Speaking) -> None:
        return

    def step(self, slots: Sequence[Speaking]) -> list[Progress[bytes]]:
        spoken = [slot for slot in slots if slot.text]
        if not spoken:
            return [Progress() for _ in slots]
        pcm = dict(zip(map(id, spoken), self._sing(spoken), strict=True))
        return [
            Progress((pcm[id(slot)],), more=bool(slot.text)) if id(slot) in pcm else Progress()
            for slot in slots
        ]

    def release(self, slot: Speaking) -> None:
        slot.text.clear()

    def close(self) -> None:
        del self._network

    def _sing(self, slots: Sequence[Speaking]) -> list[bytes]:
        """Return the audio of each stream's next character."""
        states = self._network.step([self._network.start(ord(slot.text[0])) for slot in slots])
        loudness = np.stack([state[:PARTIALS] + 1 for state in states]).astype(np.float64)
        loudness *= 0.5 / loudness.sum(axis=1, keepdims=True)
        pitches = [200.0 * 2 ** (ord(slot.text[0]) % 24 / 12) for slot in slots]
        samples = FORMAT.samples(STEP)
        phase = 2 * math.pi * np.arange(samples) / FORMAT.sample_rate
        angles = np.multiply.outer(np.multiply.outer(pitches, np.arange(1, PARTIALS + 1)), phase)
        waves = np.einsum("sp,spt->st", loudness, np.sin(angles))
        found = []
        for slot, state, wave in zip(slots, states, waves, strict=True):
            slot.text.popleft()
            slot.state = state
            length = FORMAT.samples(STEP / slot.speed)
            found.append(to_int16(np.resize(wave, length)).astype("<i2").tobytes())
            slot.sample += length
        return found


@dataclass(slots=True, eq=False)
class Hearing:
    """What is kept of a stream that is heard."""

    state: NDArray[np.float32]
    pcm: bytearray = field(default_factory=bytearray)
    sample: int = 0
    start: int = 0
    steps: int = 0
    words: list[str] = field(default_factory=list)
    ended: bool = False


class ToneReader:
    """Writes a number for every 80 ms, which depends on all samples of its segment."""

    def __init__(self, *, units: int = 256, max_batch: int = 16, slots: int = 64) -> None:
        self.info = EngineInfo(
            name="tone-reader",
            kind=EngineKind.RECOGNIZE,
            version="1",
            format=FORMAT,
            languages=("mul",),
            slots=slots,
            deterministic=True,
            licence="Apache-2.0",
        )
        self.max_batch = max_batch
        self._units = units

    def load(self) -> None:
        self._network = Network(self._units)

    def open(self, request: RecognitionRequest) -> Hearing:
        return Hearing(self._network.start(0))

    def feed(self, slot: Hearing, audio: AudioChunk) -> None:
        slot.pcm += audio.pcm

    def end(self, slot: Hearing) -> None:
        slot.ended = True

    def step(self, slots: Sequence[Hearing]) -> list[Progress[Transcript | Checkpoint]]:
        heard = [(slot, pcm) for slot in slots if (pcm := self._frame(slot))]
        if heard:
            before = [np.mod(slot.state + self._levels(pcm), LEVELS) for slot, pcm in heard]
            for (slot, pcm), state in zip(heard, self._network.step(before), strict=True):
                slot.state = state
                slot.sample += FORMAT.samples_in(pcm)
                slot.steps += 1
                slot.words.append(str(int(state[:PARTIALS].sum())))
        taken = {id(slot) for slot, _ in heard}
        return [self._progress(slot, heard=id(slot) in taken) for slot in slots]

    def release(self, slot: Hearing) -> None:
        slot.pcm.clear()

    def close(self) -> None:
        del self._network

    def _frame(self, slot: Hearing) -> bytes:
        size = FORMAT.frame_bytes(STEP)
        if len(slot.pcm) < size and not slot.ended:
            return b""
        pcm = bytes(slot.pcm[:size])
        del slot.pcm[:size]
        return pcm

    def _levels(self, pcm: bytes) -> NDArray[np.float32]:
        """Return the frame's samples folded onto the units."""
        levels = np.rint(np.abs(to_float(pcm)) * 32768) % LEVELS
        folded = np.bincount(np.arange(len(levels)) % self._units, levels, self._units)
        return folded.astype(np.float32)

    def _progress(self, slot: Hearing, *, heard: bool) -> Progress[Transcript | Checkpoint]:
        more = len(slot.pcm) >= FORMAT.frame_bytes(STEP) or (slot.ended and bool(slot.pcm))
        final = slot.steps == SEGMENT_STEPS or (slot.ended and not more)
        if not slot.words or not (heard or final):
            return Progress(more=more)
        transcript = Transcript(
            text=" ".join(slot.words), final=final, start=slot.start, end=slot.sample
        )
        if final:
            slot.start, slot.steps = slot.sample, 0
            slot.words = []
            slot.state = self._network.start(0)
        return Progress((transcript,), more=more)


def tone_bank(**options: int) -> BatchedSynthesizer[Speaking]:
    """Return the synthesizer, as an entry point would name it."""
    return BatchedSynthesizer(ToneBank(**options))


def tone_reader(**options: int) -> BatchedRecognizer[Hearing]:
    """Return the recognizer, as an entry point would name it."""
    return BatchedRecognizer(ToneReader(**options))
