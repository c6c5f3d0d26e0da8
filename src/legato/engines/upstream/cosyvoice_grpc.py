"""The engine `cosyvoice-grpc`: CosyVoice's gRPC server as an upstream."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from legato.engines.cosyvoice import text as texts
from legato.engines.cosyvoice.config import Mode
from legato.engines.upstream import recording, rpc
from legato.engines.upstream.cosyvoice import CosyVoiceUpstream, Speaker
from legato.engines.upstream.cosyvoice_pb2 import (
    CrossLingual,
    InferenceRequest,
    InferenceResponse,
    Instruct,
    Sft,
    ZeroShot,
)
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.pcm import whole_samples
from legato.errors import EngineUnavailable
from legato.speech import SynthesisRequest

METHOD: Final = "/cosyvoice.CosyVoice/Inference"


class CosyVoiceGrpc(CosyVoiceUpstream):
    """CosyVoice's gRPC server.

    Args:
        options: Fields of `legato.engines.upstream.cosyvoice.CosyVoiceOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    name = "cosyvoice-grpc"
    schemes = rpc.SCHEMES
    example = "grpc://127.0.0.1:50000"

    def __init__(self, **options: object) -> None:
        super().__init__(self.configured(options))

    def check(self) -> None:
        rpc.check()
        super().check()
        if self._options.mode is Mode.INSTRUCT and not self._options.has_speakers:
            raise EngineUnavailable(
                f"{self.name}: its protocol has mode instruct for version 1 alone; use"
                " cosyvoice-http, or another mode"
            )

    def load(self) -> None:
        self.check()
        for speaker in self._voices.values():
            if speaker.prompt is not None:
                recording.samples(speaker.prompt.wav)
        super().load()

    def ask(
        self, voice: Speaker, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        wanted = iter((self._request(voice, part),))
        answers = rpc.stream(
            attempt, METHOD, wanted, InferenceResponse, idle=self._options.idle_timeout
        )
        yield from whole_samples(answer.tts_audio for answer in answers)

    def _request(self, voice: Speaker, part: str) -> InferenceRequest:
        config, model, mode = self._options, self._options.model, self.mode_of(voice)
        if not voice.is_recorded:
            if config.mode is Mode.SFT:
                return InferenceRequest(sft=Sft(spk_id=voice.name, tts_text=part))
            how = texts.instruction(config.instruct_text, model)
            wanted = Instruct(tts_text=part, spk_id=voice.name, instruct_text=how)
            return InferenceRequest(instruct=wanted)
        audio = recording.samples_of(voice.prompt, voice.own)
        if mode is Mode.ZERO_SHOT:
            said = texts.zero_shot_prompt(voice.text, model)
            return InferenceRequest(
                zero_shot=ZeroShot(tts_text=part, prompt_text=said, prompt_audio=audio)
            )
        foreign = texts.cross_lingual(part, model)
        return InferenceRequest(cross_lingual=CrossLingual(tts_text=foreign, prompt_audio=audio))
