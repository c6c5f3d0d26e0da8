"""What a server offers, read over HTTP: engines and voices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from legato.client.config import ClientConfig
from legato.client.resources import request
from legato.errors import ConnectionLost, LegatoError
from legato.speech import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine of a server, whether it can be used or not.

    Attributes:
        kind: `synthesize` or `recognize`.
        name: What `engine=` asks for.
        state: `loading`, `ready`, or `unavailable` for `reason`.
        default: Whether it is chosen where none is named.
        version: Of the engine or its weights.
        sample_rate: Native rate in Hz, or None if it takes any.
        languages: BCP 47 tags; empty means any.
        voices: Of a synthesizer.
        reason: Why it is unavailable, and what to do.
        facts: All that the server says of it.
    """

    kind: str
    name: str
    state: str = "loading"
    default: bool = False
    version: str = ""
    sample_rate: int | None = None
    languages: tuple[str, ...] = ()
    voices: tuple[Voice, ...] = ()
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)


def fetch_engines(config: ClientConfig) -> list[Engine]:
    """Return the server's engines; blocks.

    Raises:
        ConnectionLost: If the server cannot be reached or is no Legato server.
    """
    return [_engine(facts) for facts in _fetch(config, "engines")]


def fetch_voices(config: ClientConfig) -> list[Voice]:
    """Return the voices that can be used now; blocks.

    Raises:
        ConnectionLost: If the server cannot be reached or is no Legato server.
    """
    return [_voice(facts) for facts in _fetch(config, "voices")]


def _fetch(config: ClientConfig, name: str) -> list[dict[str, Any]]:
    url = f"{config.http_base}/{name}"
    try:
        return _listed(url, request(config, name), name)
    except ConnectionLost:
        raise
    except LegatoError as error:
        raise ConnectionLost(f"{url} answered {error.code}: {error.message}") from error


def _listed(url: str, body: bytes, name: str) -> list[dict[str, Any]]:
    try:
        listed: list[dict[str, Any]] = json.loads(body)[name]
        named = all("name" in facts for facts in listed)
    except (ValueError, KeyError, TypeError) as error:
        raise ConnectionLost(f"{url} is not from a Legato server") from error
    if not named:
        raise ConnectionLost(f"{url} lists entries without a name")
    return listed


def _engine(facts: Mapping[str, Any]) -> Engine:
    return Engine(
        kind=facts.get("kind", ""),
        name=facts["name"],
        state=facts.get("state", "loading"),
        default=facts.get("default", False),
        version=facts.get("version", ""),
        sample_rate=facts.get("sample_rate"),
        languages=tuple(facts.get("languages", ())),
        voices=tuple(_voice(voice) for voice in facts.get("voices", ())),
        reason=facts.get("reason"),
        facts=facts,
    )


def _voice(facts: Mapping[str, Any]) -> Voice:
    return Voice(
        name=facts["name"],
        engine=facts.get("engine", ""),
        languages=tuple(facts.get("languages", ())),
        gender=facts.get("gender"),
        description=facts.get("description", ""),
        own=facts.get("own", False),
    )
