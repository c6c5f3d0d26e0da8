"""Structured logs: a constant message, facts as fields, never what was said or who may say it."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.typing import Processor

from legato.telemetry.redaction import redacted

Format = Literal["console", "json"]

HIDDEN: Final = frozenset(
    {
        "api_key",
        "audio",
        "auth",
        "authorization",
        "characters",
        "cookie",
        "hotwords",
        "key",
        "password",
        "payload",
        "pcm",
        "secret",
        "text",
        "ticket",
        "token",
        "transcript",
        "words",
    }
)
"""Fields whose values never reach a log: what was said, and what opens doors."""

MAX_CHARS: Final = 500
"""Longer values are cut: a log line is no place for content."""

TRACE_CHARS: Final = 20_000
"""Bound of a traceback."""

_configured: Final[list[tuple[Format, str]]] = []

_TRACES: Final = frozenset({"exception", "trace"})


def without_content(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> Mapping[str, Any]:
    """Blank hidden fields, name bytes by their size only, and cut what is too long."""
    for name, value in event.items():
        if name in HIDDEN:
            event[name] = "(hidden)"
        elif isinstance(value, bytes | bytearray | memoryview):
            event[name] = f"({len(value)} bytes)"
        elif isinstance(value, str):
            bound = TRACE_CHARS if name in _TRACES else MAX_CHARS
            event[name] = value if len(value) <= bound else f"{value[:bound]}…"
    return event


_SHARED: Final[tuple[Processor, ...]] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
)

_OWN: Final[tuple[Processor, ...]] = (
    structlog.stdlib.filter_by_level,
    *_SHARED,
    structlog.processors.format_exc_info,
    without_content,
    ProcessorFormatter.wrap_for_formatter,
)


def logger(name: str) -> BoundLogger:
    """Return the logger of a module; silent below warnings until `configure` was called.

    Args:
        name: Dotted, such as `legato.worker`.
    """
    bound: BoundLogger = structlog.wrap_logger(
        logging.getLogger(name), processors=list(_OWN), wrapper_class=BoundLogger
    )
    return bound


def configure(
    format: Format = "console",  # noqa: A002  the setting's name everywhere
    level: str = "info",
    stream: TextIO | None = None,
) -> None:
    """Send the logs of this process, those of libraries too, to one place.

    Args:
        format: `console` for people, `json` for machines.
        level: Lowest level shown: debug, info, warning, error.
        stream: Where to; standard error by default, so that pipes stay clean.

    Raises:
        ValueError: If the level is unknown.
    """
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=list(_SHARED),
            processors=[ProcessorFormatter.remove_processors_meta, *_renderers(format, target)],
        )
    )
    root = logging.getLogger()
    root.setLevel(level.upper())
    root.handlers[:] = [handler]
    _configured[:] = [(format, level)]


def configuration() -> tuple[Format, str] | None:
    """Return the format and level of the last `configure`, for processes that log as this one."""
    return _configured[-1] if _configured else None


def _redacted_values(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> Mapping[str, Any]:
    return {name: redacted(it) if isinstance(it, str) else it for name, it in event.items()}


def _redacted_line(_logger: object, _method: str, line: Any) -> str:
    return redacted(str(line))


def _renderers(format: Format, target: TextIO) -> list[Processor]:  # noqa: A002  as above
    if format == "json":
        as_text = structlog.processors.format_exc_info
        return [as_text, _redacted_values, structlog.processors.JSONRenderer()]
    # The default traceback prints local variables, and so what was said.
    plain = structlog.dev.plain_traceback
    console = structlog.dev.ConsoleRenderer(colors=target.isatty(), exception_formatter=plain)
    return [console, _redacted_line]


def trace_of(error: BaseException) -> str:
    """Return the type and the stack of `error`, without its message, which may quote content."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    return f"{stack}{type(error).__module__}.{type(error).__qualname__}"
