"""The engine `piper`: Piper's small voices for many languages, on the CPU.

GPL-3.0-or-later: the package `piper-tts` is the user's choice, never a default, and nothing of it
is imported before `load`. What it does not do by itself is done here: a sentence is spoken clause
by clause, no sentence is made as loud as it can be, one thread serves one call, `[[...]]` in a text
is no command, what it would pass over in silence is refused, and nothing is downloaded.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import av
import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.clauses import Part, parts, settled
from legato.engines.installation import version
from legato.engines.markup import letters_of, spoken, unread
from legato.engines.onnx import session
from legato.engines.piper_voices import Card, Config, cards, configured, missing
from legato.engines.precedence import Precedence
from legato.errors import EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest, Voice
from legato.speech.languages import speaks
from legato.speech.scripts import Script, is_speakable, runs, unspeakable
from legato.speech.sound.loudness import loudness

if TYPE_CHECKING:
    from types import ModuleType

Samples = NDArray[np.float32]

LONGEST: Final = 60
"""Phonemes of one call: about 3 s of speech, 0.2 s of work of one thread."""

SLICE: Final = 0.1
"""Seconds of one chunk that is given."""

WARM_UP: Final = "1, 2, 3, 4; 5 6 7. 8? 9, 10!"
"""eSpeak reads figures in every language."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A voice that is in memory.

    Attributes:
        card: What is known of it.
        model: The `piper.PiperVoice`.
        manner: Its `piper.SynthesisConfig` at the voice's own speed.
    """

    card: Card
    model: Any
    manner: Any


class Piper:
    """Voices of Piper from files on the disk.

    Args:
        options: Fields of `legato.engines.piper_voices.Config`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        self._config: Config = configured(options)
        self._cards = cards(self._config)
        self._turns = Precedence(self._config.parallel)
        self._loaded: dict[str, Loaded] = {}
        self._form = AudioFormat(self._cards[0].rate_hz if self._cards else 22_050)
        self.info = _described(self._config, self._cards, self._form)

    def check(self) -> None:
        """Look for package and voices without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the commands that get it.
        """
        if (sentence := missing(self._config, self._cards)) is not None:
            raise EngineUnavailable(f"piper: {sentence}")

    def load(self) -> None:
        self.check()
        piper = importlib.import_module("piper")

        models: dict[Path, Any] = {}
        for card in self._cards:
            if card.model not in models:
                models[card.model] = _model(piper, card, self._config)
            self._loaded[card.name] = Loaded(
                card, models[card.model], _manner(piper, card, self._config)
            )
        levels = {name: self._warmed(one) for name, one in self._loaded.items()}
        voices = (replace(v, loudness_lufs=levels[v.name]) for v in self.info.voices)
        self.info = replace(self.info, voices=tuple(voices))

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        form = self._form
        if not self._loaded:
            raise EngineUnavailable("piper is not loaded yet")
        chosen = self._chosen(request)
        due, sample = time.monotonic() + request.spare, 0
        for piece in text:
            for audio in self._speak(chosen, request.speed, piece, due):
                size = form.samples(SLICE)
                for start in range(0, len(audio), size):
                    pcm = audio[start : start + size].astype("<i2").tobytes()
                    yield AudioChunk(pcm, form, sample)
                    sample += form.samples_in(pcm)

    def close(self) -> None:
        self._loaded = {}

    def _chosen(self, request: SynthesisRequest) -> Loaded:
        name = request.voice
        if name is None:
            wanted = request.language or ""
            fits = (card.name for card in self._cards if speaks((card.language,), wanted))
            name = next(fits, self._cards[0].name)
        if name not in self._loaded:
            names = ", ".join(self._loaded)
            raise UnknownVoice(f"piper has no voice {name!r} here, only {names}")
        return self._loaded[name]

    def _speak(
        self, chosen: Loaded, speed: float, piece: str, due: float
    ) -> Iterator[NDArray[np.int16]]:
        """Yield the audio of a piece; all its phonemes are found before any of it is heard.

        Args:
            chosen: The voice asked for.
            speed: 1 is the voice's own.
            piece: What to say.
            due: Instant by which the first of it should be there.
        """
        foreign = unspeakable(piece, self.info.scripts) or unread(piece)
        if foreign:
            raise UnsupportedText(f"piper cannot speak {foreign!r}", characters=foreign)
        text = spoken(piece).replace("[[", "[ [")
        said: list[tuple[Loaded, Part]] = []
        for script, run in runs(text):
            voice = self._reader(chosen, script)
            said.extend((voice, part) for part in self._phonemes(voice, run))
        for voice, part in said:
            with self._turns.turn(due):
                audio = self._call(voice, part, speed)
            due += self._form.seconds(len(audio))
            yield audio

    def _reader(self, chosen: Loaded, script: Script) -> Loaded:
        """Return the voice asked for, or where it cannot read a script the first that can."""
        if script is Script.COMMON or script in chosen.card.scripts:
            return chosen
        return next(one for one in self._loaded.values() if script in one.card.scripts)

    def _phonemes(self, voice: Loaded, text: str) -> list[Part]:
        """Return the phonemes of a run of text, part by part.

        Raises:
            UnsupportedText: If there are none, of a text with something to say.
        """
        known = voice.model.config.phoneme_id_map
        found: list[Part] = []
        for line in filter(is_speakable, text.splitlines()):
            try:
                sentences = voice.model.phonemize(line)
            except (ValueError, LookupError, RuntimeError) as error:
                raise UnsupportedText(
                    f"piper cannot read {line[:40]!r}: {error}", characters=letters_of(line)
                ) from error
            said = [[p for p in sentence if p in known] for sentence in sentences]
            if not any(p.isalnum() for sentence in said for p in sentence):
                raise UnsupportedText(
                    f"piper has no sound for {line[:40]!r}", characters=letters_of(line)
                )
            for sentence in said:
                # One part where the phonemes are not characters: they are not cut by punctuation.
                longest = LONGEST if voice.card.phoneme_type != "pinyin" else len(sentence)
                found.extend(parts(sentence, longest=max(longest, 1)))
        return found

    def _call(self, voice: Loaded, part: Part, speed: float) -> NDArray[np.int16]:
        manner = replace(voice.manner, length_scale=voice.manner.length_scale / speed)
        ids = voice.model.phonemes_to_ids(list(part.phonemes))
        made = voice.model.phoneme_ids_to_audio(ids, manner)
        audio: Samples = np.atleast_1d(np.asarray(made, dtype=np.float32))
        audio = settled(audio, part.pause, voice.card.rate_hz)
        return converted(to_int16(audio), voice.card.rate_hz, self._form.sample_rate)

    def _warmed(self, voice: Loaded) -> float | None:
        """Have a voice speak once; return how loud it is, None if that cannot be told.

        Raises:
            EngineUnavailable: If what finds its phonemes is missing.
        """
        try:
            said = [self._call(voice, part, 1.0) for part in self._phonemes(voice, WARM_UP)]
        except UnsupportedText:
            return None  # it reads letters alone
        except (ImportError, OSError) as error:
            raise EngineUnavailable(
                f"piper: the voice {voice.card.name} does not speak: {error}"
            ) from error
        level = loudness(np.concatenate(said).astype("<i2").tobytes(), self._form)
        return level if np.isfinite(level) else None


def converted(pcm: NDArray[np.int16], rate_hz: int, wanted_hz: int) -> NDArray[np.int16]:
    """Return mono audio at another rate."""
    if rate_hz == wanted_hz or not len(pcm):
        return pcm
    resampler = av.AudioResampler(format="s16", layout="mono", rate=wanted_hz)
    frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate = rate_hz
    frames = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])


def _model(piper: ModuleType, card: Card, config: Config) -> Any:
    """Return a `PiperVoice` on a session of ours: one thread, no arena, no telemetry."""
    try:
        settings = piper.PiperConfig.from_dict(card.settings)
        network = session(card.model, threads=config.threads)
    except EngineUnavailable:
        raise
    except Exception as error:  # onnxruntime's own classes, which have no common one
        raise EngineUnavailable(f"piper: {card.model} cannot be loaded: {error}") from error
    more = {"download_dir": Path(config.g2pw)} if config.g2pw else {}
    return piper.PiperVoice(session=network, config=settings, **more)


def _manner(piper: ModuleType, card: Card, config: Config) -> Any:
    said = card.settings.get("inference", {})
    return piper.SynthesisConfig(
        speaker_id=card.speaker_id,
        length_scale=config.length_scale or said.get("length_scale", 1.0),
        noise_scale=config.noise_scale,
        noise_w_scale=config.noise_w,
        normalize_audio=False,
    )


def _described(config: Config, known: tuple[Card, ...], form: AudioFormat) -> EngineInfo:
    still = config.noise_scale == 0 and config.noise_w == 0
    return EngineInfo(
        name="piper",
        kind=EngineKind.SYNTHESIZE,
        version=version("piper-tts") or "0",
        format=form,
        scripts=frozenset(script for card in known for script in card.scripts),
        languages=tuple(dict.fromkeys(card.language for card in known)),
        voices=tuple(
            Voice(
                name=card.name,
                engine="piper",
                languages=(card.language,),
                gender=config.genders.get(card.name),
                description=card.description,
            )
            for card in known
        ),
        slots=config.slots,
        deterministic=still,
        licence="GPL-3.0-or-later",
        written_out=frozenset({"en", "zh"}),
    )
