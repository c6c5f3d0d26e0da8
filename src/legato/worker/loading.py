"""From an engine's name, or its class, to an engine."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from legato.engines import registry
from legato.engines.base import EngineKind
from legato.errors import EngineUnavailable
from legato.telemetry.logs import configuration
from legato.worker.config import EngineSpec
from legato.worker.frames import Load
from legato.worker.service import Engine


def load_of(spec: EngineSpec) -> Load:
    """Return the first word to a process of an engine."""
    options = dict(spec.options or {})
    return Load(spec.kind, spec.name, spec.target, list(sys.path), options, configuration())


def make_engine(
    kind: EngineKind, name: str, target: str | None, options: Mapping[str, Any] | None = None
) -> Engine:
    """Return an engine that is not loaded yet.

    Args:
        kind: What it does.
        name: As registered.
        target: `module:Class` instead of what is registered.
        options: Its keyword arguments.

    Raises:
        UnknownEngine: If nothing is registered under `name`.
        EngineUnavailable: If its package is missing, it has no such option, or `target` names
            nothing.
    """
    if target is None:
        return registry.create(kind, name, options)
    module, _, attribute = target.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(f"{target} is not an engine's module:Class") from error
    engine: Engine = registry.built(name, factory, options)
    return engine
