"""What a command needs beyond the base, and the line that installs it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from legato.engines.installation import add_command
from legato.errors import LegatoError

MODULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "server": ("starlette", "uvicorn", "httptools", "prometheus_client"),
        "voices": ("hibari", "moonshine_voice", "onnxruntime"),
        "redis": ("redis",),
        "audio": ("sounddevice",),
        "espeak": ("espeakng_loader",),
    }
)
"""Extra → the modules that it brings."""


class MissingExtra(LegatoError):
    """A part that is not installed (never on the wire)."""

    code = "missing_extra"
    advice = "Run the pip line in the message; `legato doctor` shows what else is missing."


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in MODULES[extra] if find_spec(module) is None]


def need(extra: str) -> None:
    """Check that an extra is installed.

    Raises:
        MissingExtra: If something of it is missing.
    """
    absent = missing(extra)
    if absent:
        are = "are" if len(absent) > 1 else "is"
        raise MissingExtra(f"{', '.join(absent)} {are} not installed: {add_command(extra)}")
