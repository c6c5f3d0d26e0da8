"""What a node can do, from the records of its engines: what is told and what /readyz answers."""

from __future__ import annotations

from collections.abc import Sequence

from legato.bus.records import EngineRecord


def is_usable(engines: Sequence[EngineRecord]) -> bool:
    """Whether any engine can be used of those that are chosen by themselves.

    Where none is chosen by itself, any engine will do: clients name it.
    """
    return any(engine.state == "ready" for engine in _chosen(engines))


def is_loading(engines: Sequence[EngineRecord]) -> bool:
    """Whether an engine that is chosen by itself is not warm yet."""
    return any(engine.state == "loading" for engine in _chosen(engines))


def can_speak(engines: Sequence[EngineRecord]) -> bool:
    """Whether a text is spoken without an engine being named."""
    return any(
        engine.default and engine.kind == "synthesize" and engine.state == "ready"
        for engine in engines
    )


def lacks(engines: Sequence[EngineRecord]) -> list[str]:
    """Return what cannot be used of those that are chosen by themselves, why, and what to do."""
    if not engines:
        return ["worker.engines names none"]
    return [
        f"{engine.name} ({engine.kind}): {engine.reason}"
        for engine in _chosen(engines)
        if engine.state == "unavailable"
    ]


def _chosen(engines: Sequence[EngineRecord]) -> Sequence[EngineRecord]:
    return [engine for engine in engines if engine.default] or engines
