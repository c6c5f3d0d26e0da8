"""The speakers of a model as voices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from legato.engines.sherpa.config import SynthesizerConfig
from legato.engines.sherpa.directory import Model, ModelType
from legato.errors import EngineUnavailable
from legato.speech import Voice

_KOKORO: Final = {
    "a": "en-US",
    "b": "en-GB",
    "e": "es",
    "f": "fr-FR",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-BR",
    "z": "zh-CN",
}
"""What the first letter of a speaker of Kokoro's says (VOICES.md of Kokoro-82M)."""

_GENDERS: Final = {"f": "female", "m": "male"}


def voices(
    model: Model | None, config: SynthesizerConfig, languages: tuple[str, ...], engine: str
) -> tuple[Voice, ...]:
    """Return the voices, each at the place of its speaker's number.

    Raises:
        EngineUnavailable: If the options name more speakers than there are, or one twice.
    """
    names = _names(model)
    if len(config.voices) > len(names) and model is not None:
        raise EngineUnavailable(
            f"sherpa-onnx: voices names {len(config.voices)} speakers, the model has {len(names)}"
        )
    names = [*config.voices, *names[len(config.voices) :]]
    if len(set(names)) < len(names):
        raise EngineUnavailable("sherpa-onnx: two voices have the same name; give each its own")
    kokoro = model is not None and model.type is ModelType.KOKORO
    return tuple(_voice(name, engine, languages, kokoro=kokoro) for name in names)


def _voice(name: str, engine: str, languages: tuple[str, ...], *, kokoro: bool) -> Voice:
    prefix = name.partition("_")[0]
    if kokoro and len(prefix) == 2 and prefix[0] in _KOKORO:
        gender = _GENDERS.get(prefix[1])
        return Voice(name=name, engine=engine, languages=(_KOKORO[prefix[0]],), gender=gender)
    return Voice(name=name, engine=engine, languages=languages)


def _names(model: Model | None) -> list[str]:
    if model is None:
        return ["speaker-0"]
    count = max(int(model.metadata.get("n_speakers", "1") or 1), 1)
    numbered = [f"speaker-{number}" for number in range(count)]
    told = [name.strip() for name in model.metadata.get("speaker_names", "").split(",")]
    if len(told) == count and all(told) and len(set(told)) == count:
        return told
    for name, number in _piper(model).items():
        if 0 <= number < count:
            numbered[number] = name
    return numbered


def _piper(model: Model) -> Mapping[str, int]:
    """Return the numbers of the speakers that the file beside a voice of Piper's names."""
    if model.type is not ModelType.VITS:
        return {}
    path = model.files["model"]
    beside = path.with_name(f"{path.name}.json")
    try:
        told = json.loads(beside.read_text(encoding="utf-8"))
        return {str(name): int(number) for name, number in told["speaker_id_map"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # It is there for names alone, and does not come with every voice.
        return {}
