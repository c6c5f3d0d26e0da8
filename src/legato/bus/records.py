"""What processes tell in the registry: engines, so that a gateway needs none, and how they are.

A worker writes one record for each engine it knows, under tenant `TENANT`, kind `ENGINE_KIND` and
the name that `engine_record_name` gives, and renews it while it runs.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

TENANT: Final = "default"
ENGINE_KIND: Final = "engine"

PROCESS_KIND: Final = "process"
"""Records of gateways and workers, by their names."""

JANITOR_KIND: Final = "janitor"
"""One record: whose turn it is to clean up."""

FORGOTTEN_KIND: Final = "forgotten"
"""Records that tell workers whose speech to drop (`legato.bus.forgetting`)."""

SYSTEM_KINDS: Final = frozenset({ENGINE_KIND, PROCESS_KIND, JANITOR_KIND, FORGOTTEN_KIND})
"""Kinds of `TENANT` that are the system's, and not the tenant's."""


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
        order: Its place among the worker's engines, of which the first are preferred.
        abilities: What it can do beside the plain work, as `legato.engines.base.Ability`.
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
    order: int = 0
    abilities: tuple[str, ...] = ()


class EngineLoad(msgspec.Struct, kw_only=True, frozen=True):
    """How busy an engine of a worker is.

    Attributes:
        kind: `synthesize` or `recognize`.
        name: Of the engine.
        state: `loading`, `ready` or `unavailable`.
        busy: Slots taken.
        slots: Streams that it serves at once; 0 while it is not ready.
        waiting: Calls that wait for a slot.
        hold: Seconds that a call needs its slot, on average.
        oldest: Seconds for which the call that has gone on for longest has had its slot.
        cost: Seconds of a slot for a second of audio, on average; 0 if that is not known.
    """

    kind: Literal["synthesize", "recognize"]
    name: str
    state: Literal["loading", "ready", "unavailable"]
    busy: int
    slots: int
    waiting: int = 0
    hold: float = 0.0
    oldest: float = 0.0
    cost: float = 0.0


class ProcessRecord(msgspec.Struct, kw_only=True, frozen=True):
    """A gateway or a worker; a process that is both has two.

    Attributes:
        role: What it is.
        name: Nobody else's; a worker holds its leases under it.
        host: Name of the machine.
        pid: Process id there.
        version: Of Legato.
        state: `draining` after a stop was asked for.
        started: Unix time in seconds.
        loop_lag: Seconds by which the event loop was late at worst, since the record before.
        streams: Those that it has.
        connections: WebSocket connections, of a gateway.
        engines: Of a worker.
        told: Unix time in seconds of the record; a process that lives writes one each second.
        memory_bytes: Resident memory, without that of engine processes; None where the system does
            not tell.
    """

    role: Literal["gateway", "worker"]
    name: str
    host: str
    pid: int
    version: str
    state: Literal["loading", "ready", "draining"]
    started: float
    loop_lag: float
    streams: int
    connections: int = 0
    engines: tuple[EngineLoad, ...] = ()
    told: float = 0.0
    memory_bytes: int | None = None


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


def encode_process(record: ProcessRecord) -> bytes:
    """Return `record` as JSON."""
    return msgspec.json.encode(record)


def decode_process(value: bytes) -> ProcessRecord:
    """Read a record; unknown fields are ignored.

    Raises:
        msgspec.ValidationError: If `value` is not a process's record.
    """
    return msgspec.json.decode(value, type=ProcessRecord)
