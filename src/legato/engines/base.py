"""The port that every engine implements: ordinary blocking Python, streaming in and out.

An engine author never meets asyncio, WebSocket or the bus. Each engine runs in an engine
process of its own unless `EngineInfo.inline` says that it never blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from legato.audio import AudioChunk, AudioFormat
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript, Voice
from legato.speech.scripts import Script


class EngineKind(StrEnum):
    """What an engine does; also the name of the wire's task."""

    SYNTHESIZE = "synthesize"
    RECOGNIZE = "recognize"


class Ability(StrEnum):
    """What a client may ask for that not every engine can do; refused by name where it cannot."""

    HOTWORDS = "hotwords"
    """Favours the words of `RecognitionRequest.hotwords`."""
    PUNCTUATION = "punctuation"
    """Writes punctuation or leaves it out, as asked."""
    INVERSE_NORMALIZATION = "inverse_normalization"
    """Writes numbers as figures or as words, as asked."""
    LANGUAGE_DETECTION = "language_detection"
    """Finds out by itself which language is spoken, and says so."""
    SPEAKERS = "speakers"
    """Tells who spoke."""
    CLONING = "cloning"
    """Speaks with the voice of `SynthesisRequest.prompt`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What an engine says of itself, before its weights are loaded.

    Attributes:
        name: As asked for on the wire; unique per kind.
        kind: Synthesis or recognition.
        version: Of the engine or its weights; a change may change the output.
        format: Native PCM format: what `synthesize` yields, what `recognize` wants.
            None: it takes or gives any format, that of the request.
        scripts: What it can read aloud or write; empty means any.
        languages: BCP 47 tags.
        voices: At least one for a synthesizer.
        slots: Streams it serves at once in one process.
        deterministic: Whether the same seed and input give the same samples or text.
        inline: Never blocks and may run in the event loop.
        forkable: Whether a process that has loaded it may be forked to make further ones, which
            then share its weights: `load` leaves no thread, no connection and no device open.
        licence: SPDX expression of engine and weights.
        written_out: Primary language tags, of "en" and "zh", in which the worker writes out
            numbers, dates, signs and addresses as words before it; empty: it is given text as it
            came.
        abilities: What it can do beside the plain work.
    """

    name: str
    kind: EngineKind
    version: str
    format: AudioFormat | None
    scripts: frozenset[Script] = frozenset()
    languages: tuple[str, ...] = ()
    voices: tuple[Voice, ...] = ()
    slots: int = 1
    deterministic: bool = False
    inline: bool = False
    forkable: bool = False
    licence: str = ""
    written_out: frozenset[str] = frozenset()
    abilities: frozenset[Ability] = frozenset()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All audio before `sample` is done with: a fresh start there gives the same text.

    Attributes:
        sample: Counted from the first sample of this call's audio, in the engine's format.
    """

    sample: int


@runtime_checkable
class Synthesizer(Protocol):
    """Text in, audio out."""

    info: EngineInfo

    def load(self) -> None:
        """Load weights and warm up; may take minutes.

        Raises:
            EngineUnavailable: If package or weights are missing; names the way to get them.
        """

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        """Speak `text`, piece by piece, as soon as each can be spoken.

        Closing the iterator stops the work and frees everything within 200 ms. Several calls
        may run at once in threads, up to `info.slots`; they share no state.

        Raises:
            UnsupportedText: If a character cannot be spoken.
            UnknownVoice: If `request.voice` is not among `info.voices`.
        """

    def close(self) -> None:
        """Free weights and devices."""


@runtime_checkable
class Recognizer(Protocol):
    """Audio in, transcripts out."""

    info: EngineInfo

    def load(self) -> None:
        """Load weights and warm up; may take minutes.

        Raises:
            EngineUnavailable: If package or weights are missing; names the way to get them.
        """

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        """Write down `audio` as it comes; the end of `audio` makes what is open final.

        `Transcript.start` and `end` count samples from this call's first one, in `info.format`
        (or the request's where that is None); word times are seconds from there. The iterator
        is pulled from one thread, which blocks in `audio` while nothing comes. Closing the
        iterator stops the work and frees everything within 200 ms.
        """

    def close(self) -> None:
        """Free weights and devices."""


@runtime_checkable
class Straining(Protocol):
    """What a recognizer has besides that gives each stream less while there are many of them."""

    @property
    def degraded(self) -> bool:
        """Whether partials are rarer, or segments shorter, than one stream alone would have.

        Read often and from any thread; the worker tells the clients.
        """


@runtime_checkable
class Cloning(Protocol):
    """What a synthesizer with `Ability.CLONING` has besides, if it keeps anything of a prompt."""

    def forget(self, digest: str) -> None:
        """Drop all that is kept of the prompt with this digest; returns at once.

        What a call is speaking with may stay until that ends. Called from any thread.
        """
