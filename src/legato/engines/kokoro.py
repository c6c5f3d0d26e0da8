"""The engine `kokoro-onnx`: Kokoro-82M through the package of that name.

Done here and not by the package: speech comes clause by clause, a session has the threads that it
is given, voices are read once, flags of foreign words are not spoken, a text without phonemes is
refused, and a voice speaks only languages whose phonemes the package can find.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.clauses import Part, parts
from legato.engines.installation import require, version
from legato.engines.markup import letters_of, spoken, unread
from legato.engines.onnx import session
from legato.engines.precedence import Precedence
from legato.errors import EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest, Voice
from legato.speech.languages import speaks, written_in
from legato.speech.scripts import Script, is_speakable, runs, unspeakable
from legato.speech.sound.loudness import loudness

Samples = NDArray[np.float32]

FORMAT: Final = AudioFormat(24_000)

LONGEST: Final = 60
"""Phonemes of one call: about 4 s of speech."""

PAUSE: Final = 0.35
"""Seconds of silence after a sentence; the network's own, up to 0.8 s around it, is cut."""

WARM_UP: Final = "1, 2, 3, 4; 5 6 7. 8? 9, 10!"
"""eSpeak reads figures in every language."""

_SLICE: Final = FORMAT.samples(0.1)

_LANGUAGES: Final[Mapping[str, str]] = {
    "a": "en-US",
    "b": "en-GB",
    "e": "es",
    "f": "fr-FR",
    "h": "hi",
    "i": "it",
    "p": "pt-BR",
}
"""Languages by the first letter of a voice's name (Kokoro-82M, VOICES.md).

Not Japanese and Chinese (j, z): their phonemes are not eSpeak's, which is all that the package has.
"""

_GENDERS: Final[Mapping[str, str]] = {"f": "female", "m": "male"}

_FLAG: Final = re.compile(r"\([a-z]{2,3}(?:-[a-z]+)*\)")
"""What phonemizer puts around a word of another language; brackets of the text are gone before."""

_BRACKETS: Final = str.maketrans("()[]{}", "      ")


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engine.

    Attributes:
        model: Path of the network, such as `kokoro-v1.0.onnx`.
        voices: Path of the voices, such as `voices-v1.0.bin`.
        voice: Default voice; unset, the first by name that is not without a language.
        languages: BCP 47 tags by the name of a voice, where its first letter does not tell it, or
            it is to speak another language.
        threads: Threads of one call.
        parallel: Calls at once, over all streams.
        slots: Streams at once.
    """

    model: str = ""
    voices: str = ""
    voice: str = ""
    languages: dict[str, str] = {}
    threads: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    parallel: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    slots: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4


@dataclass(frozen=True, slots=True)
class Loaded:
    """The package with its weights in memory.

    Attributes:
        kokoro: The `kokoro_onnx.Kokoro`.
        styles: Its voices; the package reads them from one open file, which threads cannot share.
    """

    kokoro: Any
    styles: Mapping[str, Samples]


class Kokoro:
    """Kokoro from files on the disk.

    Args:
        options: Fields of `Config`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        try:
            self._config = msgspec.convert(options, Config)
        except msgspec.ValidationError as error:
            raise EngineUnavailable(f"kokoro-onnx: {error}; see docs/kokoro.md") from error
        self._languages = _languages(self._config)
        self._turns = Precedence(self._config.parallel)
        self._loaded: Loaded | None = None
        self.info = _described(self._config, self._languages)

    def check(self) -> None:
        """Look for package and files without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the way to get it.
        """
        require("kokoro_onnx", extra="kokoro")
        for name in ("model", "voices"):
            path = getattr(self._config, name)
            if not path or not Path(path).expanduser().is_file():
                said = f"{path} is not there" if path else f"{name} is not set"
                raise EngineUnavailable(
                    f"kokoro-onnx: {said}; docs/kokoro.md has the commands that get model and"
                    " voices"
                )
        names = _names(self._config)
        if strangers := sorted({*self._config.languages, self._config.voice} - {"", *names}):
            raise EngineUnavailable(
                f"kokoro-onnx: {self._config.voices} has no voice {strangers[0]!r}, only"
                f" {', '.join(names) or 'none, or is no file of voices'}"
            )
        if not self._languages:
            raise EngineUnavailable(
                "kokoro-onnx: no voice speaks a language that the package finds phonemes for;"
                f" name one in languages, of: {', '.join(names)}"
            )

    def load(self) -> None:
        self.check()
        package = importlib.import_module("kokoro_onnx")
        voices = Path(self._config.voices).expanduser()
        try:
            network = session(Path(self._config.model).expanduser(), threads=self._config.threads)
            kokoro = package.Kokoro.from_session(network, str(voices))
            with contextlib.closing(kokoro.voices) as file:
                styles = {name: np.asarray(file[name]) for name in self._languages}
            kokoro.voices = styles
        except EngineUnavailable:
            raise
        except Exception as error:  # onnxruntime's own classes, which have no common one
            raise EngineUnavailable(f"kokoro-onnx cannot be loaded: {error}") from error
        self._loaded = Loaded(kokoro, styles)
        self._warm_up(self._loaded)

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        loaded = self._loaded
        if loaded is None:
            raise EngineUnavailable("kokoro-onnx is not loaded yet")
        voice = self._chosen(request)
        due, sample = time.monotonic() + request.spare, 0
        for piece in text:
            for audio in self._speak(loaded, voice, request.speed, piece, due):
                for start in range(0, len(audio), _SLICE):
                    pcm = audio[start : start + _SLICE].astype("<i2").tobytes()
                    yield AudioChunk(pcm, FORMAT, sample)
                    sample += FORMAT.samples_in(pcm)

    def close(self) -> None:
        self._loaded = None

    def _chosen(self, request: SynthesisRequest) -> str:
        if request.voice is None:
            wanted = request.language or ""
            fits = (name for name, tag in self._languages.items() if speaks((tag,), wanted))
            return next(fits, next(iter(self._languages)))
        if request.voice not in self._languages:
            names = ", ".join(self._languages)
            raise UnknownVoice(f"kokoro-onnx has no voice {request.voice!r} here, only {names}")
        return request.voice

    def _speak(
        self, loaded: Loaded, voice: str, speed: float, piece: str, due: float
    ) -> Iterator[NDArray[np.int16]]:
        """Yield the audio of a piece; all its phonemes are found before any of it is heard.

        Args:
            loaded: The package.
            voice: Whose voice.
            speed: 1 is the voice's own.
            piece: What to say.
            due: Instant by which the first of it should be there.
        """
        foreign = unspeakable(piece, self.info.scripts) or unread(piece)
        if foreign:
            raise UnsupportedText(f"kokoro-onnx cannot speak {foreign!r}", characters=foreign)
        said: list[tuple[str, Part]] = []
        for script, run in runs(spoken(piece).translate(_BRACKETS)):
            reader = self._reader(voice, script)
            said.extend((reader, part) for part in self._parts(loaded, reader, run))
        for reader, part in said:
            with self._turns.turn(due):
                audio = self._call(loaded, reader, part, speed)
            due += FORMAT.seconds(len(audio))
            yield audio

    def _reader(self, voice: str, script: Script) -> str:
        """Return the voice asked for, or where it cannot read a script the first that can."""
        if script is Script.COMMON or script in written_in(self._languages[voice]):
            return voice
        return next(name for name, tag in self._languages.items() if script in written_in(tag))

    def _parts(self, loaded: Loaded, voice: str, text: str) -> Iterator[Part]:
        tokenizer = loaded.kokoro.tokenizer
        for line in filter(is_speakable, text.splitlines()):
            found = str(tokenizer.phonemize(line, self._languages[voice].lower()))
            phonemes = tokenizer.known(_FLAG.sub("", found))
            if not any(map(str.isalpha, phonemes)):
                raise UnsupportedText(
                    f"kokoro-onnx has no sound for {line[:40]!r}", characters=letters_of(line)
                )
            yield from parts(phonemes, longest=LONGEST)

    def _call(self, loaded: Loaded, voice: str, part: Part, speed: float) -> NDArray[np.int16]:
        audio, _ = loaded.kokoro.create(
            "".join(part.phonemes), loaded.styles[voice], speed=speed, is_phonemes=True
        )
        pause = np.zeros(FORMAT.samples(PAUSE if part.pause is None else part.pause), np.int16)
        return np.concatenate([to_int16(np.asarray(audio, np.float32)), pause])

    def _warm_up(self, loaded: Loaded) -> None:
        """Have a voice of each language speak, and learn what the voices are like.

        Raises:
            EngineUnavailable: If there are no phonemes for a language.
        """
        heard: list[tuple[str, bytes]] = []
        firsts = {tag: name for name, tag in reversed(self._languages.items())}
        default = next(iter(self._languages))
        for name in (default, default, *firsts.values()):
            try:
                said = [
                    self._call(loaded, name, p, 1.0) for p in self._parts(loaded, name, WARM_UP)
                ]
            except (RuntimeError, ValueError) as error:
                raise EngineUnavailable(
                    f"kokoro-onnx: {name} does not speak {self._languages[name]}: {error}"
                ) from error
            heard.append((name, np.concatenate(said).astype("<i2").tobytes()))
        levels = {name: loudness(pcm, FORMAT) for name, pcm in heard}
        rounding = hashlib.sha256(heard[0][1]).hexdigest()[:8]
        voices = (
            replace(voice, loudness_lufs=levels.get(voice.name, levels[default]))
            for voice in self.info.voices
        )
        self.info = replace(
            self.info,
            version=f"{version('kokoro-onnx')}+{rounding}",
            voices=tuple(voices),
            deterministic=heard[0][1] == heard[1][1],  # exports differ: some draw noise
        )


def _names(config: Config) -> list[str]:
    """Return the voices of the file, none if it is no such file."""
    try:
        with zipfile.ZipFile(Path(config.voices).expanduser()) as file:
            return sorted(name.removesuffix(".npy") for name in file.namelist())
    except (OSError, zipfile.BadZipFile):
        return []


def _languages(config: Config) -> dict[str, str]:
    """Return the languages of the voices that can speak one, the default voice first."""
    names = sorted(_names(config), key=lambda name: name != config.voice)
    known = {name: config.languages.get(name) or _LANGUAGES.get(name[:1], "") for name in names}
    return {name: tag for name, tag in known.items() if tag}


def _described(config: Config, languages: Mapping[str, str]) -> EngineInfo:
    return EngineInfo(
        name="kokoro-onnx",
        kind=EngineKind.SYNTHESIZE,
        version=version("kokoro-onnx") or "0",
        format=FORMAT,
        scripts=frozenset(script for tag in languages.values() for script in written_in(tag)),
        languages=tuple(dict.fromkeys(languages.values())),
        voices=tuple(
            Voice(
                name=name,
                engine="kokoro-onnx",
                languages=(tag,),
                gender=_GENDERS.get(name[1:2]) if name[2:3] == "_" else None,
                description="Kokoro-82M",
            )
            for name, tag in languages.items()
        ),
        slots=config.slots,
        licence="Apache-2.0 AND MIT AND GPL-3.0-or-later",
        written_out=frozenset({"en", "zh"}),
    )
