"""What workers tell gateways in the registry, so that a gateway needs no engine.

A worker writes one record for each engine it knows, under tenant `TENANT`, kind `ENGINE_KIND` and
the name that `engine_record_name` gives, and renews it while it runs.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

TENANT: Final = "default"
ENGINE_KIND: Final = "engine"


class VoiceRecord(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A voice of an engine; the fields are those of `legato.speech.Voice`."""

    name: str
    engine: str
    languages: tuple[str, ...] = ()
    gender: str | None = None
    description: str = ""


class EngineRecord(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An engine, whether it can be used or not.

    Attributes:
        kind: `synthesize` or `recognize`.
        name: What `stream_start.engine` asks for.
        version: Of the engine or its weights.
        sample_rate: Native rate in Hz, or None if it takes any.
        languages: BCP 47 tags.
        scripts: ISO 15924 codes of what it can read or write; empty means any.
        voices: Of a synthesizer.
        slots: Streams that it serves at once; 0 while it is not ready.
        deterministic: Whether a take-over repeats the same samples or text.
        state: `loading`, `ready`, or `unavailable` for `reason`.
        reason: Why it is unavailable, and what to do.
        default: Whether it is chosen where none is named; one of each kind.
    """

    kind: Literal["synthesize", "recognize"]
    name: str
    version: str = ""
    sample_rate: int | None = None
    languages: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    voices: tuple[VoiceRecord, ...] = ()
    slots: int = 0
    deterministic: bool = False
    state: Literal["loading", "ready", "unavailable"] = "loading"
    reason: str | None = None
    default: bool = False


def engine_record_name(kind: str, name: str) -> str:
    """Return the name under which an engine's record stands in the registry."""
    return f"{kind}:{name}"


def encode_engine(record: EngineRecord) -> bytes:
    """Return `record` as JSON."""
    return msgspec.json.encode(record)


def decode_engine(value: bytes) -> EngineRecord:
    """Read a record; unknown fields are ignored.

    Raises:
        msgspec.ValidationError: If `value` is not an engine's record.
    """
    return msgspec.json.decode(value, type=EngineRecord)
