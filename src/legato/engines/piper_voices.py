"""What an operator may set of the engine `piper`, and the voices that this names."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from legato.errors import EngineUnavailable
from legato.speech.languages import written_in
from legato.speech.scripts import Script

INSTALL: Final = "pip install piper-tts"
"""GPL-3.0-or-later: no extra of ours brings it."""

GET: Final = "python -m piper.download_voices en_US-lessac-medium --download-dir voices"

Scale = Annotated[float, msgspec.Meta(ge=0, le=2)]


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engine.

    Attributes:
        model: Path of a voice, an `.onnx` file with its `.onnx.json` beside it; the default voice.
        voices: Folder of further voices; all of them are loaded.
        speakers: Names of speakers of voices that have several, each offered as `voice#speaker`.
        genders: "female" or "male" by the name of a voice, of which Piper's files say nothing.
        noise_scale: Of the sound; unset as the voice has it. With 0 here and in `noise_w` the
            same text is the same samples.
        noise_w: Of the rhythm; unset as the voice has it.
        length_scale: Of all lengths; unset as the voice has it. 2 is half as fast.
        threads: Threads of one call.
        parallel: Calls at once, over all streams.
        slots: Streams at once.
        g2pw: Folder that holds the folder `g2pW`, which voices for Chinese want.
    """

    model: str = ""
    voices: str = ""
    speakers: tuple[str, ...] = ()
    genders: dict[str, Literal["female", "male"]] = {}
    noise_scale: Scale | None = None
    noise_w: Scale | None = None
    length_scale: Annotated[float, msgspec.Meta(gt=0, le=4)] | None = None
    threads: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    parallel: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    slots: Annotated[int, msgspec.Meta(ge=1, le=256)] = 16
    g2pw: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A voice on the disk.

    Attributes:
        name: The file's, as `en_US-lessac-medium`; with `#` and a speaker where it has several.
        model: The `.onnx` file.
        settings: What its `.onnx.json` says.
        language: BCP 47 tag.
        speaker_id: Which of its speakers; None is the first.
    """

    name: str
    model: Path
    settings: Mapping[str, Any]
    language: str
    speaker_id: int | None = None

    @property
    def rate_hz(self) -> int:
        """Samples per second."""
        return int(self.settings["audio"]["sample_rate"])

    @property
    def phoneme_type(self) -> str:
        """Who finds its phonemes: `espeak`, `text`, `pinyin` or another."""
        return str(self.settings.get("phoneme_type", "espeak"))

    @property
    def scripts(self) -> frozenset[Script]:
        """What it reads."""
        return written_in(self.language)

    @property
    def description(self) -> str:
        """One line for a person."""
        quality = self.settings["audio"].get("quality", "")
        about = self.settings.get("language", {})
        parts = (about.get("name_english"), about.get("country_english"), quality)
        return ", ".join(filter(None, parts))


def configured(options: Mapping[str, object]) -> Config:
    """Return the options that a settings file gives.

    Raises:
        EngineUnavailable: If one is unknown or wrong; names it.
    """
    try:
        return msgspec.convert(dict(options), Config)
    except msgspec.ValidationError as error:
        raise EngineUnavailable(f"piper: {error}; see docs/piper.md") from error


def cards(config: Config) -> tuple[Card, ...]:
    """Return the voices that are there, the default first; `missing` says what is not."""
    found: dict[str, Card] = {}
    for model in _models(config):
        settings = _settings(model)
        if isinstance(settings, str):
            continue
        for card in _speakers(model, settings, config):
            found.setdefault(card.name, card)
    return tuple(found.values())


def missing(config: Config, known: tuple[Card, ...]) -> str | None:
    """Say what has to be got before the engine can speak, None if nothing."""
    if importlib.util.find_spec("piper") is None:
        return (
            f"the package is not installed; it is under the GPL-3.0 and your choice: {INSTALL};"
            f" then get a voice: {GET}"
        )
    if not config.model and not config.voices:
        return f"model is not set; get a voice with: {GET}; and name its .onnx file in model"
    wrong = next(filter(None, map(_wrong, _models(config))), None)
    if wrong is None and not known:
        return f"there is no .onnx file in {config.voices}; get a voice with: {GET}"
    return wrong or _lacking(config, known)


def _wrong(model: Path) -> str | None:
    """Say what is wrong with the files of a voice."""
    if not model.is_file():
        return f"{model} is not there; get a voice with: {GET}"
    settings = _settings(model)
    return settings if isinstance(settings, str) else None


def _lacking(config: Config, known: tuple[Card, ...]) -> str | None:
    """Say what voices that are there want besides."""
    chinese = any(card.phoneme_type == "pinyin" for card in known)
    if chinese and not (config.g2pw and Path(config.g2pw, "g2pW").is_dir()):
        return (
            "a voice for Chinese wants the folder g2pW, which piper would download into the"
            " working directory; see docs/piper.md, and name the folder around it in g2pw"
        )
    names = {name for card in known for name in card.settings.get("speaker_id_map", {})}
    if strangers := sorted(set(config.speakers) - names):
        return f"no voice has a speaker {strangers[0]!r}; see speaker_id_map in the .onnx.json"
    return None


def _models(config: Config) -> Iterator[Path]:
    if config.model:
        yield Path(config.model).expanduser()
    if config.voices:
        yield from sorted(Path(config.voices).expanduser().glob("**/*.onnx"))


def _settings(model: Path) -> dict[str, Any] | str:
    """Return what is written beside a model, or what is wrong with it."""
    path = Path(f"{model}.json")
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        int(settings["audio"]["sample_rate"])
        str(settings["espeak"]["voice"])
    except FileNotFoundError:
        return f"{path} is not there; a voice is two files"
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{path} is not what piper writes: {error!r}"
    return settings


def _speakers(model: Path, settings: Mapping[str, Any], config: Config) -> Iterator[Card]:
    code = str(settings.get("language", {}).get("code") or settings["espeak"]["voice"])
    language = code.replace("_", "-")
    yield Card(model.stem, model, settings, language)
    known = settings.get("speaker_id_map", {})
    for name in config.speakers:
        if name in known:
            yield Card(f"{model.stem}#{name}", model, settings, language, int(known[name]))
