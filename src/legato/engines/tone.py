"""Engines for tests and demonstrations: what they say and write is a pure function of their input.

`ToneSynthesizer` plays a tone for each character. `ToneRecognizer` writes words that depend on
every sample: one 20 ms frame lost, doubled or altered on the way changes the text.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines.base import EngineInfo, EngineKind
from legato.errors import UnknownVoice, UnsupportedFormat
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript, Voice, Word

_CHARACTER: Final = 0.05
"""Seconds of one character's tone at speed 1."""

_FADE: Final = 0.004
"""Seconds of rise and fall, against clicks."""

_LOUDNESS: Final = 0.3
_LOWEST_HZ: Final = 200.0
_OCTAVES: Final = 4.0
_PITCHES: Final = 48

_FRAME: Final = 0.02
"""Seconds of audio that one link of the chain of hashes covers."""

_WORD_FRAMES: Final = 10
_SEGMENT_FRAMES: Final = 50
_CONSONANTS: Final = "bdfghjklmnprstvz"
_VOWELS: Final = "aeio"


class ToneSynthesizer:
    """A tone of 50 ms for each character, in any format, voice or script; white space is silent."""

    info = EngineInfo(
        name="tone",
        kind=EngineKind.SYNTHESIZE,
        version="1",
        format=None,
        voices=(
            Voice(name="tone", engine="tone", languages=("mul",), description="A tone a letter"),
        ),
        slots=10_000,
        deterministic=True,
        inline=True,
        licence="Apache-2.0",
    )

    def load(self) -> None:
        """There is nothing to load."""

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        if request.voice not in (None, "tone"):
            raise UnknownVoice(f"tone has no voice {request.voice!r}, only 'tone'")
        sample = 0
        for piece in text:
            for character in piece:
                pcm = tone(character, request.format, _CHARACTER / request.speed)
                chunk = AudioChunk(pcm, request.format, sample)
                sample += chunk.samples
                yield chunk

    def close(self) -> None:
        """There is nothing to free."""


def tone(character: str, pcm: AudioFormat, duration: float) -> bytes:
    """Return the tone of a character as s16le: four octaves from 200 Hz in 48 steps."""
    samples = pcm.samples(duration)
    if character.isspace():
        return bytes(samples * pcm.sample_bytes)
    pitch = _LOWEST_HZ * 2 ** (_OCTAVES * (ord(character) % _PITCHES) / _PITCHES)
    at = np.arange(samples) / pcm.sample_rate
    edge = np.minimum(at, at[::-1]) / _FADE
    wave = _LOUDNESS * np.sin(2 * math.pi * pitch * at) * np.minimum(edge, 1.0)
    return to_int16(np.repeat(wave, pcm.channels)).astype("<i2").tobytes()


class ToneRecognizer:
    """Words from a chain of hashes over the exact samples: partials of 200 ms, finals of a second.

    A segment's text depends on all its samples and on nothing before it.
    """

    info = EngineInfo(
        name="tone",
        kind=EngineKind.RECOGNIZE,
        version="1",
        format=None,
        languages=("mul",),
        slots=10_000,
        deterministic=True,
        inline=True,
        licence="Apache-2.0",
    )

    def load(self) -> None:
        """There is nothing to load."""

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript]:
        chain = _Chain(request.format)
        for chunk in audio:
            if chunk.format != request.format:
                raise UnsupportedFormat(f"{request.format} was announced, {chunk.format} came")
            yield from chain.accept(chunk.pcm)
        yield from chain.finish()

    def close(self) -> None:
        """There is nothing to free."""


class _Chain:
    """The words of one stream."""

    def __init__(self, pcm: AudioFormat) -> None:
        self._format = pcm
        self._frame_bytes = pcm.frame_bytes(_FRAME)
        self._rest = bytearray()
        self._sample = 0
        self._begin()

    def accept(self, pcm: bytes) -> Iterator[Transcript]:
        self._format.samples_in(pcm)
        self._rest += pcm
        while len(self._rest) >= self._frame_bytes:
            frame = bytes(self._rest[: self._frame_bytes])
            del self._rest[: self._frame_bytes]
            self._link(frame)
            if self._frames % _WORD_FRAMES == 0:
                yield self._word(final=self._frames == _SEGMENT_FRAMES)

    def finish(self) -> Iterator[Transcript]:
        if self._rest:
            self._link(bytes(self._rest))
        if self._sample > self._word_start:
            yield self._word(final=True)
        elif self._words:
            yield self._transcript(final=True)

    def _begin(self) -> None:
        self._digest = b""
        self._frames = 0
        self._words: list[Word] = []
        self._start = self._word_start = self._sample

    def _link(self, frame: bytes) -> None:
        self._digest = hashlib.blake2b(self._digest + frame, digest_size=16).digest()
        self._frames += 1
        self._sample += self._format.samples_in(frame)

    def _word(self, *, final: bool) -> Transcript:
        start, end = map(self._format.seconds, (self._word_start, self._sample))
        self._words.append(Word(word(self._digest), start, end, 1.0))
        self._word_start = self._sample
        return self._transcript(final=final)

    def _transcript(self, *, final: bool) -> Transcript:
        transcript = Transcript(
            text=" ".join(word.text for word in self._words),
            final=final,
            start=self._start,
            end=self._sample,
            words=tuple(self._words),
            confidence=1.0,
        )
        if final:
            self._begin()
        return transcript


def word(digest: bytes) -> str:
    """Spell the first 24 bits of a digest as four syllables."""
    bits = int.from_bytes(digest[:3], "big")
    parts = (bits >> shift & 63 for shift in (18, 12, 6, 0))
    return "".join(_CONSONANTS[part >> 2] + _VOWELS[part & 3] for part in parts)
