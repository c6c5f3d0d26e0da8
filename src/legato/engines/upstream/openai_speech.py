"""The engine `openai` that speaks: any server with OpenAI's `POST /v1/audio/speech`.

Raw PCM is asked for, as it needs no decoder and its first samples come first; its rate is not told
by the server, so it is a setting.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.cosyvoice.text import bounded
from legato.engines.upstream import body, openai_options
from legato.engines.upstream.config import configured
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.exchange import Request, Timing, exchange
from legato.engines.upstream.openai_options import NAME, SpeechOptions
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.synthesizer import PartwiseSynthesizer
from legato.engines.upstream.text import readable
from legato.errors import EngineUnavailable
from legato.speech import SynthesisRequest, Voice

ROUTE: Final = "audio/speech"


class OpenAISpeech(PartwiseSynthesizer[str]):
    """An OpenAI-compatible speech server.

    Args:
        options: Fields of `legato.engines.upstream.openai_options.SpeechOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    paced = True

    def __init__(self, **options: object) -> None:
        config = configured(NAME, SpeechOptions, options)
        self._options = config
        self._secret = Secret()
        super().__init__(
            _info(config),
            config,
            form=AudioFormat(config.sample_rate_hz),
            voices=config.voices,
        )

    def check(self) -> None:
        if not self._options.voices:
            raise EngineUnavailable(f'{NAME}: voices is empty; set voices = {{ alloy = "alloy" }}')
        self._secret = openai_options.check(self._options)

    def answers(self, url: str) -> bool:
        config = self._options
        timing = Timing(
            connect=config.connect_timeout,
            deadline=time.monotonic() + config.first_byte_timeout,
            idle=config.idle_timeout,
        )
        return openai_options.answers(url, self._secret, timing)

    def parts(self, text: str) -> Iterable[str]:
        return bounded(readable(NAME, text))

    def ask(
        self, voice: str, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        wanted: dict[str, str | float] = {
            "model": self._options.model,
            "input": part,
            "voice": voice,
            "response_format": "pcm",
        }
        if request.speed != 1.0:  # not every server takes it
            wanted["speed"] = request.speed
        if self._options.instructions:
            wanted["instructions"] = self._options.instructions
        ask = Request(
            url=f"{attempt.endpoint.rstrip('/')}/{ROUTE}",
            headers={"Content-Type": "application/json", "Accept": "application/octet-stream"},
            body=msgspec.json.encode(wanted),
            secret=self._secret,
        )
        with exchange(ask, self.timing(attempt), attempt.cancellation) as answer:
            yield from body.samples(answer)


def _info(config: SpeechOptions) -> EngineInfo:
    languages = config.languages or ("mul",)
    return EngineInfo(
        name=NAME,
        kind=EngineKind.SYNTHESIZE,
        version=config.model,
        format=AudioFormat(config.sample_rate_hz),
        languages=languages,
        voices=tuple(
            Voice(name=name, engine=NAME, languages=languages, description=config.model)
            for name in config.voices
        ),
        slots=config.slots,
        deterministic=False,
        licence=config.licence,
    )
