"""What may be set of where models come from and where they are kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsConfig:
    """Settings of `legato models`; proxies are those of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.

    Attributes:
        folder: Where models are kept; unset, `legato/models` in the user's data folder
            (XDG_DATA_HOME, or ~/.local/share).
        huggingface: Address of Hugging Face, or of a mirror with the same routes.
        huggingface_key: Access token for its gated or private models.
        modelscope: Address of ModelScope, or of a mirror with the same routes.
        modelscope_key: Access token for its private models.
        parallel: Files that are fetched at once.
        timeout: Seconds that a hub may be silent.
        tries: Attempts at a file that bring nothing new until it is given up.
    """

    folder: str | None = None
    huggingface: str = "https://huggingface.co"
    huggingface_key: str | None = None
    modelscope: str = "https://www.modelscope.cn"
    modelscope_key: str | None = None
    parallel: int = 4
    timeout: float = 30.0
    tries: int = 6
