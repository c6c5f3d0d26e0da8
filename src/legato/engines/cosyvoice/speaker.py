"""One loaded CosyVoice, and which of its methods says a text in which voice."""

from __future__ import annotations

import sys
import threading
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from legato.engines.cosyvoice.clones import Clones
from legato.engines.cosyvoice.config import Config, Mode, Prompt
from legato.engines.cosyvoice.directory import Version
from legato.engines.cosyvoice.names import NEEDED, mend, restore
from legato.engines.cosyvoice.ownership import keep_voices, own_chunk_length
from legato.engines.cosyvoice.text import cross_lingual, instruction, zero_shot_prompt
from legato.errors import EngineUnavailable
from legato.speech.voices import VoicePrompt
from legato.telemetry.logs import logger

MAX_INSTRUCTIONS: Final = 16
"""Instructions of clients that are kept for each voice; each holds the features of its prompt."""

Text = str | Generator[str, None, None]
Outputs = Iterator[Mapping[str, Any]]

log = logger("legato.engines.cosyvoice")


class Speaker:
    """Speaks, one text at a time for each stream that the model can serve.

    Args:
        cosyvoice: What `AutoModel` returned.
        version: Of the model.
        config: Of the engine.

    Attributes:
        model: CosyVoice's model object, which all requests share.
        rate_hz: Sample rate of the audio.
    """

    def __init__(self, cosyvoice: Any, version: Version, config: Config) -> None:
        self.model: object = cosyvoice.model
        self.rate_hz = int(cosyvoice.sample_rate)
        self._cosyvoice = cosyvoice
        self._version = version
        self._config = config
        self._instructions: dict[str, None] = {}
        self._learning = threading.Lock()
        self._clones = Clones(self._learn, self._unlearn)
        self._modules = _modules_of(cosyvoice, cosyvoice.model)

    def mend(self) -> None:
        """Have requests own what is theirs, and voices known."""
        missing = NEEDED - mend(self._modules)
        if missing:
            log.warning(
                "this CosyVoice is not as expected: cancel, watchdog and chunk length are not sure",
                missing=sorted(missing),
            )
        own_chunk_length(self.model)
        for prompt in self._config.prompts if self.speaks_by_prompt else ():
            self._register(prompt, self._config.instruct_text)
        keep_voices(self._cosyvoice)

    def unmend(self) -> None:
        """Give CosyVoice's modules their names back."""
        restore(self._modules)

    def voices(self) -> Sequence[str]:
        """Return the names of the voices.

        Raises:
            EngineUnavailable: If there are none.
        """
        if self.speaks_by_prompt:
            return [prompt.name for prompt in self._config.prompts]
        speakers = [str(name) for name in self._cosyvoice.list_available_spks()]
        if not speakers:
            raise EngineUnavailable(
                f"cosyvoice: {self._config.model_dir} has no speakers of its own (no spk2info.pt);"
                " set mode to zero_shot and give a prompt, or take a model with speakers such as"
                " CosyVoice-300M-SFT"
            )
        first = self._config.voice
        if first is not None and first not in speakers:
            raise EngineUnavailable(
                f"cosyvoice: {self._config.model_dir} has no speaker {first!r}, only"
                f" {', '.join(speakers)}"
            )
        return sorted(speakers, key=lambda name: name != first)

    def speak(
        self,
        text: Text,
        voice: str,
        *,
        instruct: str,
        speed: float,
        prompt: VoicePrompt | None = None,
    ) -> Outputs:
        """Yield what CosyVoice yields.

        Args:
            text: What to say; a generator where the model takes one.
            voice: One of `voices`.
            instruct: How to say it, in mode `instruct`.
            speed: 1.0 while it streams, which CosyVoice asserts.
            prompt: A recording whose voice speaks instead.
        """
        if prompt is not None:
            return self._speak_as(prompt, text, instruct=instruct, speed=speed)
        if self._config.mode is Mode.INSTRUCT and self.speaks_by_prompt:
            voice = self._instructed(voice, instruct)
        return self._outputs(self._config.mode, text, voice, instruct=instruct, speed=speed)

    def forget(self, digest: str) -> None:
        """Drop what is known of a recording, as soon as nobody speaks with it."""
        self._clones.forget(digest)

    def _speak_as(self, prompt: VoicePrompt, text: Text, *, instruct: str, speed: float) -> Outputs:
        mode = self._config.mode
        if mode is Mode.ZERO_SHOT and not prompt.text.strip():
            mode = Mode.CROSS_LINGUAL  # which needs not know what is said in the recording
        known = self._known_text(mode, prompt.text, instruct)
        with self._clones.lent(prompt, known) as voice:
            yield from self._outputs(mode, text, voice, instruct=instruct, speed=speed)

    def _outputs(
        self, mode: Mode, text: Text, voice: str, *, instruct: str, speed: float
    ) -> Outputs:
        how = {"stream": self._config.streaming, "speed": speed}
        model = self._cosyvoice
        outputs: Outputs
        match mode:
            case Mode.SFT:
                outputs = model.inference_sft(text, voice, **how)
            case Mode.ZERO_SHOT:
                outputs = model.inference_zero_shot(text, "", "", zero_shot_spk_id=voice, **how)
            case Mode.CROSS_LINGUAL:
                text = _prefixed(text, self._version)
                outputs = model.inference_cross_lingual(text, "", zero_shot_spk_id=voice, **how)
            case Mode.INSTRUCT if not self.speaks_by_prompt:
                told = instruction(instruct, self._version)
                outputs = model.inference_instruct(text, voice, told, **how)
            case Mode.INSTRUCT:
                told = instruction(instruct, self._version)
                outputs = model.inference_instruct2(text, told, "", zero_shot_spk_id=voice, **how)
        return outputs

    @property
    def speaks_by_prompt(self) -> bool:
        """Whether voices are those of recordings, not the model's own."""
        own = self._config.mode is Mode.INSTRUCT and self._version.number == 1
        return self._config.mode is not Mode.SFT and not own

    def _register(self, prompt: Prompt, instruct: str) -> None:
        """Have CosyVoice work out once what it needs of a recording, instead of for each text."""
        name = prompt.name
        if self._config.mode is Mode.INSTRUCT:
            name = self._known_as(name, instruct)
            self._instructions[name] = None
        self._learn(prompt.wav, self._known_text(self._config.mode, prompt.text, instruct), name)

    def _known_text(self, mode: Mode, transcript: str, instruct: str) -> str:
        """Return what CosyVoice is to take for the text of a recording."""
        if mode is Mode.INSTRUCT:
            # With a voice that it knows CosyVoice looks at the text given here, at no later one.
            return instruction(instruct, self._version)
        return zero_shot_prompt(transcript, self._version) if mode is Mode.ZERO_SHOT else ""

    def _learn(self, wav: str, text: str, name: str) -> None:
        self._cosyvoice.add_zero_shot_spk(text, wav, name)

    def _unlearn(self, name: str) -> None:
        self._cosyvoice.frontend.spk2info.pop(name, None)

    def _instructed(self, voice: str, instruct: str) -> str:
        name = self._known_as(voice, instruct)
        with self._learning:
            if name not in self._instructions:
                self._make_room()
                self._register(_named(self._config.prompts, voice), instruct)
        return name

    def _make_room(self) -> None:
        """Forget the oldest instruction of a client if there are too many."""
        own = len(self._config.prompts)
        if len(self._instructions) >= own * (1 + MAX_INSTRUCTIONS):
            oldest = list(self._instructions)[own]
            del self._instructions[oldest]
            self._unlearn(oldest)

    @staticmethod
    def _known_as(voice: str, instruct: str) -> str:
        return f"{voice}/{zlib.crc32(instruct.encode()):08x}"


def _named(prompts: Sequence[Prompt], name: str) -> Prompt:
    return next(prompt for prompt in prompts if prompt.name == name)


def _prefixed(text: Text, version: Version) -> Text:
    if isinstance(text, str):
        return cross_lingual(text, version)
    return _prefixed_stream(text, version)


def _prefixed_stream(
    texts: Generator[str, None, None], version: Version
) -> Generator[str, None, None]:
    for first in texts:
        yield cross_lingual(first, version)
        break
    yield from texts


def _modules_of(*objects: object) -> list[ModuleType]:
    """Return the modules in which the classes of objects were written, without our own."""
    names = {kind.__module__ for thing in objects for kind in type(thing).__mro__[:-1]}
    return [sys.modules[name] for name in sorted(names) if name in sys.modules]
