"""Who speaks."""

from __future__ import annotations

from dataclasses import dataclass

from legato.audio import AudioFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A voice that an engine offers.

    Attributes:
        name: What a client asks for; unique within its engine.
        engine: Name of the engine that has it.
        languages: BCP 47 tags that it speaks well.
        gender: "female", "male" or None where it is not said.
        description: One line for a person.
        own: Whether a client has brought it; the engine then is one that can speak with it, or "".
        loudness_lufs: Of its ordinary speech, measured (ITU-R BS.1770) in one channel; None where
            it is not known, and the worker leaves its level as it is.
    """

    name: str
    engine: str
    languages: tuple[str, ...] = ("en",)
    gender: str | None = None
    description: str = ""
    loudness_lufs: float | None = None
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoicePrompt:
    """A recording of a speaker, for engines that can speak with any voice.

    Attributes:
        name: Of the voice; unique within its tenant.
        pcm: 3 to 30 s of one speaker, 16-bit little-endian, interleaved.
        format: Of `pcm`.
        text: What is said in it, "" if that is not known.
        digest: Hex SHA-256 of `pcm`: two prompts with the same one are the same voice.
    """

    name: str
    pcm: bytes
    format: AudioFormat
    text: str = ""
    digest: str = ""
