"""What a client may ask an engine for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from legato.audio import AudioFormat
from legato.speech.sound.treatment import Treatment
from legato.speech.voices import VoicePrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisRequest:
    """Speech wanted from text.

    Attributes:
        format: PCM format that the stream declares; an engine may answer in its own
            (`EngineInfo.format`), the worker converts.
        voice: Name of a voice, or None for the engine's default.
        language: BCP 47 tag, or None to follow the text.
        speed: Speaking rate, 1.0 is the voice's own; 0.5 to 2.0.
        seed: Seed of this stream and segment, for engines that draw random numbers.
        options: Engine-specific settings, JSON values.
        prompt: A recording whose voice is to speak, for engines that can; then `voice` is its name.
        treatment: What the worker does to the engine's sound; the engine does nothing about it.
        spare: Seconds for which the listener has something to hear still: who has less comes
            first where an engine must choose. It has no influence on the sound.
    """

    format: AudioFormat
    voice: str | None = None
    language: str | None = None
    speed: float = 1.0
    seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    prompt: VoicePrompt | None = None
    treatment: Treatment | None = None
    spare: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpointing:
    """When an utterance of the speaker is taken to be over.

    Attributes:
        silence: Seconds without speech after which the utterance's text becomes final;
            None leaves it to `finalize` and the segment cap alone.
        threshold: Probability of speech, 0 to 1, above which a frame counts as speech.
    """

    silence: float | None = 0.5
    threshold: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionRequest:
    """Text wanted from speech.

    Attributes:
        format: PCM format of the audio that comes.
        language: BCP 47 tag; None is the engine's default, which is to find out where it can.
        endpointing: When text becomes final.
        hotwords: Words to favour, where the engine can.
        punctuation: Whether punctuation is written; None leaves it to the engine. Where it is not
            wanted the worker takes out what an engine writes all the same.
        inverse_normalization: Whether numbers are written as figures; None leaves it to the engine.
        options: Engine-specific settings, JSON values; with `speakers` true, where that was asked.
    """

    format: AudioFormat
    language: str | None = None
    endpointing: Endpointing = field(default_factory=Endpointing)
    hotwords: tuple[str, ...] = ()
    punctuation: bool | None = None
    inverse_normalization: bool | None = None
    options: Mapping[str, object] = field(default_factory=dict)
