"""Which treatment a stream's speech gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from legato.engines.base import EngineInfo
from legato.errors import MalformedMessage
from legato.protocol.messages import StreamStart
from legato.speech import SynthesisRequest, Voice
from legato.speech.sound.loudness import gain_db
from legato.speech.sound.treatment import SENTENCE_PAUSE, Treatment, pause_within


@dataclass(frozen=True, slots=True)
class SoundOptions:
    """What `stream_start.options.sound` says.

    Attributes:
        level: Whether voices are brought to the same loudness.
        trim: Whether silence beyond a pause is cut at the ends of segments.
    """

    level: bool = True
    trim: bool = True


def sound_options(start: StreamStart) -> SoundOptions:
    """Return what a stream's options say of its sound.

    Raises:
        MalformedMessage: If they cannot be followed; says what they can be.
    """
    told = start.options.get("sound", {})
    names = [field.name for field in fields(SoundOptions)]
    if not isinstance(told, dict) or not all(
        name in names and isinstance(value, bool) for name, value in told.items()
    ):
        raise MalformedMessage(
            f"options.sound must be an object of {' and '.join(names)}, each true or false"
        )
    return SoundOptions(**told)


def treatment_of(
    options: SoundOptions,
    info: EngineInfo | None,
    request: SynthesisRequest,
    *,
    said: Mapping[str, float],
    language: str = "",
    behind: str = "",
) -> Treatment | None:
    """Return what is done to a piece of speech; None leaves the engine's samples as they are.

    It depends on nothing but what another worker of the same settings knows as well, so that one
    that takes over repeats every sample. An engine without a format of its own is left alone: it
    makes tones, for tests.

    Args:
        options: Of the stream.
        info: Of the engine.
        request: What is asked of it.
        said: Loudness in LUFS that the operator has measured, by `engine` or `engine/voice`.
        language: BCP 47 tag that the text is in, "" where it is not known.
        behind: The piece's text, if the segment goes on with another engine.
    """
    if info is None or info.format is None or not (options.level or options.trim):
        return None
    gain = gain_db(_loudness(info, request, said, language)) if options.level else 0.0
    tail = pause_within(behind) if behind else SENTENCE_PAUSE
    return Treatment(gain_db=gain, tail=tail if options.trim else None)


def _loudness(
    info: EngineInfo, request: SynthesisRequest, said: Mapping[str, float], language: str
) -> float | None:
    voice = _voice(info, request.voice, request.language or language)
    name = request.voice or (voice.name if voice is not None else "")
    for key in (f"{info.name}/{name}", info.name):
        if key in said:
            return said[key]
    return None if voice is None or request.prompt is not None else voice.loudness_lufs


def _voice(info: EngineInfo, name: str | None, language: str) -> Voice | None:
    """Return the voice that speaks: by name, else the first of the language, else the first."""
    if name is not None:
        return next((voice for voice in info.voices if voice.name == name), None)
    wanted = _primary(language)
    speakers = (one for one in info.voices if wanted in map(_primary, one.languages))
    return next(speakers, next(iter(info.voices), None))


def _primary(tag: str) -> str:
    return tag.partition("-")[0].lower()
