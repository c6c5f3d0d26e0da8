"""What CosyVoice's own servers have in common: options, voices, modes and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from legato.audio import AudioFormat
from legato.engines.base import Ability, EngineInfo, EngineKind
from legato.engines.cosyvoice import prompt as recordings
from legato.engines.cosyvoice import text as texts
from legato.engines.cosyvoice.config import Mode, Prompt
from legato.engines.cosyvoice.directory import VERSIONS, Version
from legato.engines.upstream import recording
from legato.engines.upstream.config import (
    Name,
    RateHz,
    Upstreams,
    check_urls,
    configured,
    secret_of,
)
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.synthesizer import PartwiseSynthesizer
from legato.errors import EngineUnavailable, UnknownVoice
from legato.speech import SynthesisRequest, Voice
from legato.speech.voices import VoicePrompt

FIRST: Final = 1


class CosyVoiceOptions(Upstreams, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engines that ask a server of CosyVoice; besides those of `Upstreams`.

    Attributes:
        version: Of the model that the servers have loaded, 1, 2 or 3: they do not tell.
        mode: `sft`, `zero_shot`, `cross_lingual` or `instruct`.
        speakers: Voices of the model, for `sft` and for version 1's `instruct`.
        prompts: Voices from recordings, for the other modes; the first is the default.
        instruct_text: How to speak, in mode `instruct`.
        sample_rate_hz: Of the audio that comes, if it is not the version's.
    """

    version: Literal[1, 2, 3] = 2
    mode: Mode = Mode.ZERO_SHOT
    speakers: tuple[Name, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instruct_text: Annotated[str, msgspec.Meta(max_length=200)] = ""
    sample_rate_hz: RateHz | None = None

    @property
    def model(self) -> Version:
        """What is known of the version."""
        return VERSIONS[self.version - 1]

    @property
    def has_speakers(self) -> bool:
        """Whether voices are those of the model, not of recordings."""
        own = self.mode is Mode.INSTRUCT and self.version == FIRST
        return self.mode is Mode.SFT or own


@dataclass(frozen=True, slots=True)
class Speaker:
    """A voice as a server is asked for it.

    Attributes:
        name: Of a speaker of the model.
        prompt: A recording instead.
        own: A recording that a client has brought, instead.
    """

    name: str
    prompt: Prompt | None = None
    own: VoicePrompt | None = None

    @property
    def is_recorded(self) -> bool:
        """Whether it is the voice of a recording."""
        return self.prompt is not None or self.own is not None

    @property
    def text(self) -> str:
        """What is said in the recording, "" if that is not known."""
        recorded = self.own or self.prompt
        return recorded.text if recorded is not None else ""


class CosyVoiceUpstream(PartwiseSynthesizer[Speaker]):
    """A server of CosyVoice.

    Attributes:
        name: Of the engine.
        schemes: Of its addresses.
        example: One of them.
        modes: Which its servers have.
    """

    name: str
    schemes: tuple[str, ...]
    example: str
    modes: frozenset[Mode] = frozenset(Mode)

    def __init__(self, config: CosyVoiceOptions) -> None:
        self._options = config
        self._secret = Secret()
        voices = {one.name: one for one in _speakers(config)} or {"default": Speaker("default")}
        form = AudioFormat(config.sample_rate_hz or config.model.rate_hz)
        super().__init__(_info(self.name, config, voices), config, form=form, voices=voices)

    @classmethod
    def configured(cls, options: Mapping[str, object]) -> CosyVoiceOptions:
        """Return the options that a settings file gives.

        Raises:
            EngineUnavailable: If one is unknown or wrong; names it.
        """
        return configured(cls.name, CosyVoiceOptions, options)

    def check(self) -> None:
        config = self._options
        check_urls(self.name, config, self.schemes, self.example)
        self._secret = secret_of(self.name, config)
        self._check_mode()
        if config.has_speakers:
            if not config.speakers:
                raise EngineUnavailable(
                    f"{self.name}: mode {config.mode} needs speakers: names of the model's own"
                )
            return
        if not config.prompts:
            raise EngineUnavailable(
                f"{self.name}: mode {config.mode} needs a prompt: a recording with its transcript;"
                " see docs/upstreams.md"
            )
        for one in config.prompts:
            recordings.check(one)
            if config.mode is Mode.ZERO_SHOT and not one.text.strip():
                raise EngineUnavailable(
                    f"{self.name}: prompt {one.name} has no text; write down what is said in"
                    f" {one.wav}, or set mode to cross_lingual"
                )

    def voice_for(self, request: SynthesisRequest) -> Speaker:
        prompt = request.prompt
        if prompt is None:
            return super().voice_for(request)
        if Ability.CLONING not in self.info.abilities:
            raise UnknownVoice(
                f"{self.name} speaks with the model's own voices alone in mode {self._options.mode}"
            )
        return Speaker(prompt.name, own=prompt)

    def forget(self, digest: str) -> None:
        """Drop all that is kept of a client's voice; see `legato.engines.base.Cloning`."""
        recording.forget(digest)

    def mode_of(self, speaker: Speaker) -> Mode:
        """Return how a voice is asked for: where its text is not known, as a foreign one."""
        mode = self._options.mode
        unknown = mode is Mode.ZERO_SHOT and speaker.own is not None and not speaker.text.strip()
        return Mode.CROSS_LINGUAL if unknown else mode

    def parts(self, text: str) -> Iterable[str]:
        return texts.bounded(texts.readable(text, self._options.model))

    def _check_mode(self) -> None:
        config = self._options
        if config.mode not in self.modes:
            raise EngineUnavailable(
                f"{self.name}: these servers have no {config.mode}, only"
                f" {', '.join(sorted(self.modes))}"
            )
        if config.mode is Mode.SFT and config.version != FIRST:
            raise EngineUnavailable(
                f"{self.name}: version {config.version} has no speakers of its own; set mode to"
                " zero_shot and give a prompt, or set version to 1"
            )
        if config.mode is Mode.INSTRUCT and not config.instruct_text.strip():
            raise EngineUnavailable(f"{self.name}: mode instruct needs instruct_text")
        names = [one.name for one in _speakers(config)]
        if len(set(names)) < len(names):
            raise EngineUnavailable(f"{self.name}: two voices have the same name")


def _speakers(config: CosyVoiceOptions) -> Iterator[Speaker]:
    if config.has_speakers:
        yield from (Speaker(name) for name in config.speakers)
    else:
        yield from (Speaker(one.name, one) for one in config.prompts)


def _info(name: str, config: CosyVoiceOptions, voices: Mapping[str, Speaker]) -> EngineInfo:
    model = config.model
    return EngineInfo(
        name=name,
        kind=EngineKind.SYNTHESIZE,
        version=f"CosyVoice {config.version}",
        format=AudioFormat(config.sample_rate_hz or model.rate_hz),
        scripts=model.scripts,
        languages=model.languages,
        voices=tuple(
            Voice(
                name=voice,
                engine=name,
                languages=(speaker.prompt.languages if speaker.prompt else ()) or model.languages,
                gender=speaker.prompt.gender if speaker.prompt else None,
                description=f"CosyVoice {config.version} elsewhere, {config.mode}",
            )
            for voice, speaker in voices.items()
        ),
        slots=config.slots,
        deterministic=False,
        licence="Apache-2.0",
        abilities=frozenset(() if config.has_speakers else {Ability.CLONING}),
    )
