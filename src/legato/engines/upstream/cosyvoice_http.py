"""The engine `cosyvoice-http`: CosyVoice's FastAPI server as an upstream.

It answers with raw samples without a header and without their rate, one chunk for each text that
it splits off, and with 200 whatever happens after: so an answer that is empty, ends within a
sample or breaks off is an error here, never an end.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Final

from legato.engines.cosyvoice import text as texts
from legato.engines.cosyvoice.config import Mode
from legato.engines.upstream import body, multipart, recording
from legato.engines.upstream.cosyvoice import CosyVoiceUpstream, Speaker
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.exchange import Request, exchange
from legato.speech import SynthesisRequest

ROUTES: Final = {
    Mode.SFT: "inference_sft",
    Mode.ZERO_SHOT: "inference_zero_shot",
    Mode.CROSS_LINGUAL: "inference_cross_lingual",
    Mode.INSTRUCT: "inference_instruct2",
}
FIRST_INSTRUCT: Final = "inference_instruct"
"""Version 1's route of mode `instruct`."""

_MEDIA_TYPE: Final = "application/octet-stream"


class CosyVoiceHttp(CosyVoiceUpstream):
    """CosyVoice's FastAPI server.

    Args:
        options: Fields of `legato.engines.upstream.cosyvoice.CosyVoiceOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    name = "cosyvoice-http"
    schemes = ("http", "https")
    example = "http://127.0.0.1:50000"

    def __init__(self, **options: object) -> None:
        super().__init__(self.configured(options))
        self._files: dict[str, multipart.File] = {}

    def load(self) -> None:
        self.check()
        for one in () if self._options.has_speakers else self._options.prompts:
            content = Path(one.wav).read_bytes()
            self._files[one.name] = multipart.File("prompt_wav", "prompt", _MEDIA_TYPE, content)
        super().load()

    def ask(
        self, voice: Speaker, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        route, fields = self._fields(voice, part)
        files = [self._file(voice)] if voice.is_recorded else []
        content, media_type = multipart.encode(fields.items(), files)
        ask = Request(
            url=f"{attempt.endpoint.rstrip('/')}/{route}",
            headers={"Content-Type": media_type},
            body=content,
            secret=self._secret,
        )
        with exchange(ask, self.timing(attempt), attempt.cancellation) as answer:
            yield from body.samples(answer)

    def _file(self, voice: Speaker) -> multipart.File:
        if voice.own is None:
            return self._files[voice.name]
        return multipart.File("prompt_wav", "prompt", _MEDIA_TYPE, recording.wav(voice.own))

    def _fields(self, voice: Speaker, part: str) -> tuple[str, dict[str, str]]:
        config, model, mode = self._options, self._options.model, self.mode_of(voice)
        route, fields = ROUTES[mode], {"tts_text": part}
        if mode is Mode.ZERO_SHOT:
            fields["prompt_text"] = texts.zero_shot_prompt(voice.text, model)
        if mode is Mode.CROSS_LINGUAL:
            fields["tts_text"] = texts.cross_lingual(part, model)
        if mode is Mode.INSTRUCT:
            fields["instruct_text"] = texts.instruction(config.instruct_text, model)
        if config.has_speakers:
            fields["spk_id"] = voice.name
            route = FIRST_INSTRUCT if config.mode is Mode.INSTRUCT else route
        return route, fields
