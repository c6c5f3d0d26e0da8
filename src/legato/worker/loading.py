"""From an engine's name, or its class, to an engine."""

from __future__ import annotations

import importlib

from legato.engines import registry
from legato.engines.base import EngineKind
from legato.errors import EngineUnavailable
from legato.worker.service import Engine


def make_engine(kind: EngineKind, name: str, target: str | None) -> Engine:
    """Return an engine that is not loaded yet.

    Args:
        kind: What it does.
        name: As registered.
        target: `module:Class` instead of what is registered.

    Raises:
        UnknownEngine: If nothing is registered under `name`.
        EngineUnavailable: If its package is missing, or `target` names nothing.
    """
    if target is None:
        return registry.create(kind, name)
    module, _, attribute = target.partition(":")
    try:
        engine: Engine = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(f"{target} is not an engine's module:Class") from error
    return engine
