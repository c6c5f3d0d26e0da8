"""Options of the engines that ask DashScope, Alibaba's speech service."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from legato.engines.upstream.config import Name, RateHz, Upstreams, check_urls, secret_of
from legato.engines.upstream.secret import Secret
from legato.errors import EngineUnavailable

NAME: Final = "dashscope"
SCHEMES: Final = ("ws", "wss")
ADDRESS: Final = "wss://dashscope.aliyuncs.com/api-ws/v1/inference"


class DashScopeOptions(Upstreams, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for both directions; besides those of `Upstreams`.

    Attributes:
        model: As the service names it.
        workspace: Id of a workspace, for keys that have several.
        languages: BCP 47 tags that the model knows.
    """

    urls: tuple[str, ...] = (ADDRESS,)
    streams: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 4
    connect_timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 4.0
    key_env: str = "DASHSCOPE_API_KEY"
    probe_interval: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 30.0
    model: Name
    workspace: str = ""
    languages: tuple[str, ...] = ("zh-CN", "en-US")

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the handshake, without the key."""
        return {"X-DashScope-WorkSpace": self.workspace} if self.workspace else {}


class SpeechOptions(DashScopeOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the synthesizer.

    Attributes:
        voices: Names that clients use, each with the service's id of the voice; the first is the
            default.
        sample_rate_hz: Wanted from the service.
        instruction: How to speak, for models that take it.
    """

    model: Name = "cosyvoice-v2"
    voices: dict[Name, str] = msgspec.field(
        default_factory=lambda: {"longxiaochun": "longxiaochun_v2"}
    )
    sample_rate_hz: RateHz = 24_000
    instruction: Annotated[str, msgspec.Meta(max_length=100)] = ""


class RecognitionOptions(DashScopeOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the recognizer.

    Attributes:
        sample_rate_hz: That the model wants.
        language_hints: Such as zh and en; none leaves it to the model.
        vocabulary_id: Of a list of hotwords that the service keeps.
    """

    model: Name = "paraformer-realtime-v2"
    sample_rate_hz: RateHz = 16_000
    language_hints: tuple[str, ...] = ()
    vocabulary_id: str = ""

    @property
    def is_gummy(self) -> bool:
        """Whether the model is of the family whose results have a shape of their own."""
        return self.model.startswith("gummy")


def check(config: DashScopeOptions) -> Secret:
    """Check the addresses and return the key.

    Raises:
        EngineUnavailable: If something is missing or wrong; names it.
    """
    check_urls(NAME, config, SCHEMES, ADDRESS)
    secret = secret_of(NAME, config)
    if not secret:
        raise EngineUnavailable(f"{NAME}: there is no key; set key_env or key_file")
    return secret
