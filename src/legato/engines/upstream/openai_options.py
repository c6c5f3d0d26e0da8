"""Options of the engines that ask an OpenAI-compatible server."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from legato.engines.upstream.cancellation import Cancellation
from legato.engines.upstream.config import Name, RateHz, Upstreams, check_urls, secret_of
from legato.engines.upstream.exchange import Request, Timing, exchange
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.secret import Secret

NAME: Final = "openai"
SCHEMES: Final = ("http", "https")
EXAMPLE: Final = "https://api.openai.com/v1"


class OpenAIOptions(Upstreams, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for both directions; besides those of `Upstreams`.

    Attributes:
        urls: Base addresses, with the `/v1`.
        model: As the server names it.
        languages: BCP 47 tags that the model knows.
        licence: SPDX expression, or what the voices page should say.
    """

    streams: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 8
    model: Name
    languages: tuple[str, ...] = ()
    licence: str = "proprietary"
    probe_interval: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 30.0


class SpeechOptions(OpenAIOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the synthesizer.

    Attributes:
        voices: Names that clients use, each with the server's name of the voice; the first is the
            default.
        sample_rate_hz: Of the server's raw PCM: OpenAI's is 24 kHz.
        instructions: How to speak, for models that take it.
    """

    model: Name = "gpt-4o-mini-tts"
    voices: dict[Name, str] = msgspec.field(default_factory=lambda: {"alloy": "alloy"})
    sample_rate_hz: RateHz = 24_000
    instructions: Annotated[str, msgspec.Meta(max_length=2_000)] = ""


class TranscriptionOptions(OpenAIOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the recognizer.

    Attributes:
        longest: Seconds of speech that one request holds at most.
    """

    model: Name = "whisper-1"
    first_byte_timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 8.0
    longest: Annotated[float, msgspec.Meta(ge=2, le=60)] = 12.0


def check(config: OpenAIOptions) -> Secret:
    """Check the addresses and return the key.

    Raises:
        EngineUnavailable: If something is missing or wrong; names it.
    """
    check_urls(NAME, config, SCHEMES, EXAMPLE)
    return secret_of(NAME, config)


def answers(url: str, secret: Secret, timing: Timing) -> bool:
    """Tell whether a server is there and takes the key; not all of them list their models.

    Args:
        url: Base address.
        secret: The key.
        timing: When waiting ends.
    """
    request = Request(url=f"{url.rstrip('/')}/models", method="GET", secret=secret)
    try:
        with exchange(request, timing, Cancellation()):
            return True
    except Fault as fault:
        return fault.kind in (Kind.MISSING, Kind.BUSY, Kind.UNFIT)
