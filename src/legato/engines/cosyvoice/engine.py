"""The engine `cosyvoice`: CosyVoice 1, 2 and 3 from a local model directory.

What the package does wrong is mended from outside, in the modules beside this one: the chunk length
and the state of a request are its own, a request can be stopped, a dead thread ends it, nothing
waits 0.1 s for a token, and the sound of streamed clips is put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines.base import Ability, EngineInfo, EngineKind
from legato.engines.cosyvoice import package, prompt
from legato.engines.cosyvoice import text as texts
from legato.engines.cosyvoice.call import Call, Chunk, Word
from legato.engines.cosyvoice.config import Config, Mode, configured
from legato.engines.cosyvoice.directory import VERSIONS, Version, missing_weights, version_of
from legato.engines.cosyvoice.run import Run
from legato.engines.cosyvoice.sound import Clip, speech_level
from legato.engines.cosyvoice.speaker import Speaker
from legato.engines.cosyvoice.stable import Stable
from legato.engines.cosyvoice.tempo import Tempo
from legato.engines.markup import letters_of
from legato.errors import EngineFailed, EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest, Voice
from legato.speech.sound.loudness import loudness
from legato.speech.voices import VoicePrompt

Samples = NDArray[np.float32]

SLICE: Final = 0.1
"""Seconds of one chunk that is given."""

MAX_INSTRUCTION: Final = 200
"""Characters of an instruction that a client gives."""

MAX_WARM_VOICES: Final = 16
"""Voices that speak while the engine loads, so that their level is known."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a stream is spoken.

    Attributes:
        voice: Whose voice.
        instruct: How, in mode `instruct`.
        speed: 1.0 is the voice's own.
        reference: Level that its first chunk should have; None leaves it.
        prompt: A recording whose voice it is.
    """

    voice: str
    instruct: str
    speed: float = 1.0
    reference: float | None = None
    prompt: VoicePrompt | None = None


class CosyVoice:
    """CosyVoice from a local model directory.

    Args:
        options: Fields of `legato.engines.cosyvoice.config.Config`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        self._config: Config = configured(options)
        self._stable: Stable | None = None
        self._levels: dict[str, float] = {}
        self._version = _version(self._config)
        self.info = _described(self._config, self._version)

    def check(self) -> None:
        """Look for package, model and prompts without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the way to get it.
        """
        config = self._config
        version = version_of(config.model_dir)
        if missing := missing_weights(config.model_dir):
            raise EngineUnavailable(
                f"cosyvoice: {config.model_dir} lacks {', '.join(missing)}, or has only Git LFS"
                " pointers of them; download the model again"
            )
        package.check(config, version)
        if _speaks_by_prompt(config, version) and not config.prompts:
            raise EngineUnavailable(
                f"cosyvoice: mode {config.mode} needs a prompt: a recording with its transcript;"
                " see docs/cosyvoice.md"
            )
        for one in config.prompts:
            prompt.check(one)
            if config.mode is Mode.ZERO_SHOT and not one.text.strip():
                raise EngineUnavailable(
                    f"cosyvoice: prompt {one.name} has no text; write down what is said in"
                    f" {one.wav}, or set mode to cross_lingual"
                )
        if config.text_streaming and (config.vllm or version.number == 1):
            raise EngineUnavailable("cosyvoice: text_streaming needs version 2 or 3, without vllm")

    def load(self) -> None:
        self.check()
        config, version = self._config, self._version
        speakers = []
        for _ in range(config.models):
            speakers.append(Speaker(package.auto_model(config, version), version, config))
            speakers[-1].mend()
        names = speakers[0].voices()
        self.info = replace(
            self.info,
            format=AudioFormat(speakers[0].rate_hz),
            voices=_voices(config, version, names),
        )
        self._stable = Stable(speakers, config.parallel)
        try:
            self._warm_up(names)
        except EngineFailed as error:
            self.close()
            raise EngineUnavailable(f"cosyvoice loads but does not speak: {error}") from error

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        stable, form = self._stable, self.info.format
        if stable is None or form is None:
            raise EngineUnavailable("cosyvoice is not loaded yet")
        manner = self._manner(request)
        size = form.samples(SLICE)
        sample = 0
        for audio in self._spoken(stable, manner, text):
            for start in range(0, len(audio), size):
                pcm = to_int16(audio[start : start + size]).astype("<i2").tobytes()
                yield AudioChunk(pcm, form, sample)
                sample += form.samples_in(pcm)

    def close(self) -> None:
        stable, self._stable = self._stable, None
        for speaker in stable.speakers if stable is not None else ():
            speaker.unmend()

    def forget(self, digest: str) -> None:
        """Drop all that is kept of a client's voice; see `legato.engines.base.Cloning`."""
        for speaker in self._stable.speakers if self._stable is not None else ():
            speaker.forget(digest)

    def _manner(self, request: SynthesisRequest) -> Manner:
        names = [voice.name for voice in self.info.voices]
        voice, prompt = request.voice or names[0], request.prompt
        if prompt is not None and Ability.CLONING not in self.info.abilities:
            raise UnknownVoice(
                f"cosyvoice speaks with its own voices alone in mode {self._config.mode}"
            )
        if prompt is None and voice not in names:
            raise UnknownVoice(f"cosyvoice has no voice {voice!r} here, only {', '.join(names)}")
        told = request.options.get("instruct_text")
        instruct = self._config.instruct_text
        if self._config.mode is Mode.INSTRUCT and isinstance(told, str) and told.strip():
            if len(told) > MAX_INSTRUCTION or "<|" in told:
                raise UnsupportedText(
                    f"instruct_text takes {MAX_INSTRUCTION} characters and no control token",
                    characters="<|" if "<|" in told else "",
                )
            instruct = told
        # Who is told to whisper is not to be made louder.
        as_usual = self._config.levelling and instruct == self._config.instruct_text
        reference = self._levels.get(voice) if as_usual and prompt is None else None
        return Manner(voice, instruct, request.speed, reference, prompt)

    def _spoken(self, stable: Stable, manner: Manner, text: Iterable[str]) -> Iterator[Samples]:
        if self._config.text_streaming:
            yield from self._said(stable, manner, self._fragments(text))
            return
        for piece in text:
            clean = texts.readable(piece, self._version, control_tokens=self._config.control_tokens)
            samples = 0
            for part in texts.bounded(clean):
                for audio in self._said(stable, manner, part):
                    samples += len(audio)
                    yield audio
            if clean and not samples:
                raise UnsupportedText(
                    f"cosyvoice made no sound of {clean[:40]!r}",
                    characters=letters_of(piece),
                )

    def _fragments(self, text: Iterable[str]) -> Iterator[str]:
        for piece in text:
            clean = texts.readable(piece, self._version, control_tokens=self._config.control_tokens)
            if clean:
                yield texts.spaced(piece, clean)

    def _said(self, stable: Stable, manner: Manner, text: str | Iterator[str]) -> Iterator[Samples]:
        """Yield the mended audio of one call of CosyVoice."""
        tempo = None
        if self._config.streaming and manner.speed != 1.0:
            tempo = Tempo(manner.speed, stable.speakers[0].rate_hz)
        for audio in self._clips(stable, manner, text):
            yield audio if tempo is None else tempo.push(audio)
        if tempo is not None:
            yield tempo.flush()

    def _clips(
        self, stable: Stable, manner: Manner, text: str | Iterator[str]
    ) -> Iterator[Samples]:
        rate_hz, streamed = stable.speakers[0].rate_hz, self._config.streaming
        number, clip = 0, None
        for chunk in self._chunks(stable, manner, text):
            if clip is None or chunk.clip != number:
                if clip is not None:
                    yield clip.end()
                clip = Clip(rate_hz, streamed=streamed, reference=manner.reference)
                number = chunk.clip
            yield clip.push(chunk.audio)
        if clip is not None:
            yield clip.end()

    def _chunks(self, stable: Stable, manner: Manner, text: str | Iterator[str]) -> Iterator[Chunk]:
        """Yield what CosyVoice makes of a text."""
        first = text if isinstance(text, str) else next(text, None)
        if first is None:
            return
        timeout = self._config.progress_timeout
        speaker = stable.take(timeout)
        speed = 1.0 if self._config.streaming else manner.speed
        call = Call(
            Run(speaker.model, self._config.chunk_tokens),
            lambda feed: speaker.speak(
                text if isinstance(text, str) else feed,
                manner.voice,
                instruct=manner.instruct,
                speed=speed,
                prompt=manner.prompt,
            ),
            freed=lambda: stable.give_back(speaker),
            progress_timeout=timeout,
        )
        call.give(first)
        try:
            call.start()
            while (word := call.next()) is not Word.OVER:
                if isinstance(word, Chunk):
                    yield word
                elif not isinstance(text, str):
                    call.give(next(text, None))
        finally:
            call.close()

    def _warm_up(self, names: Iterable[str]) -> None:
        """Have each model speak once, and learn how loud each voice is after its first chunk."""
        stable = self._stable
        if stable is None or not self._config.warm_up:
            return
        voices = list(names)[:MAX_WARM_VOICES]
        for number in range(max(len(voices), len(stable.speakers))):
            voice = voices[number % len(voices)]
            manner = Manner(voice, self._config.instruct_text)
            later: list[Samples] = []
            clip = -1
            for chunk in self._chunks(stable, manner, self._config.warm_up):
                if chunk.clip == clip or not self._config.streaming:
                    later.append(chunk.audio)
                clip = chunk.clip
            self._learn(voice, later, stable.speakers[0].rate_hz)

    def _learn(self, voice: str, later: list[Samples], rate_hz: int) -> None:
        """Note how loud a voice is, for its own first chunks and beside other voices."""
        audio = np.concatenate(later) if later else np.zeros(0, np.float32)
        level = speech_level(audio, rate_hz)
        if level is None:
            return
        self._levels[voice] = level
        found = loudness(to_int16(audio).astype("<i2").tobytes(), AudioFormat(rate_hz))
        self.info = replace(
            self.info,
            voices=tuple(
                replace(one, loudness_lufs=found) if one.name == voice else one
                for one in self.info.voices
            ),
        )


def _version(config: Config) -> Version:
    try:
        return version_of(config.model_dir)
    except EngineUnavailable:
        return VERSIONS[1]  # `check` says what is wrong


def _described(config: Config, version: Version) -> EngineInfo:
    names = [one.name for one in config.prompts] if config.mode is not Mode.SFT else []
    return EngineInfo(
        name="cosyvoice",
        kind=EngineKind.SYNTHESIZE,
        version=f"{version.number}/{Path(config.model_dir).name}",
        format=AudioFormat(version.rate_hz),
        scripts=version.scripts,
        languages=version.languages,
        voices=_voices(config, version, names or [config.voice or "default"]),
        slots=config.models * config.parallel,
        deterministic=False,  # it samples, from generators that all requests share
        licence="Apache-2.0",
        written_out=frozenset({"en", "zh"}),
        abilities=frozenset({Ability.CLONING} if _speaks_by_prompt(config, version) else ()),
    )


def _speaks_by_prompt(config: Config, version: Version) -> bool:
    own = config.mode is Mode.INSTRUCT and version.number == 1
    return config.mode is not Mode.SFT and not own


def _voices(config: Config, version: Version, names: Iterable[str]) -> tuple[Voice, ...]:
    prompts = {one.name: one for one in config.prompts}
    return tuple(
        Voice(
            name=name,
            engine="cosyvoice",
            languages=(prompts[name].languages if name in prompts else ()) or version.languages,
            gender=prompts[name].gender if name in prompts else None,
            description=f"CosyVoice {version.number}, {config.mode}",
        )
        for name in names
    )
