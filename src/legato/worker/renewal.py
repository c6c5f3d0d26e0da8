"""Other options or weights for the engines of a worker that goes on serving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from legato.engines import registry
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, UnknownEngine
from legato.telemetry.logs import logger
from legato.worker.config import EngineSpec
from legato.worker.pool import EnginePool

log = logger("legato.worker.renewal")


async def renew(
    pools: Sequence[EnginePool], engines: Sequence[EngineSpec], run: Callable[[EnginePool], object]
) -> None:
    """Load every engine anew as it is set up now, one after the other; no stream is cut short.

    An engine that cannot be loaded like that goes on as it was; one that could not be used gets
    another chance. Engines that come or go need a new worker.

    Args:
        pools: The worker's engines.
        engines: As they are set up now.
        run: Keeps an engine alive that could not be used before.
    """
    told = {(spec.kind, spec.name): spec for spec in engines}
    for pool in pools:
        spec = told.pop((pool.spec.kind, pool.spec.name), None)
        if spec is None:
            log.warning("engine left the settings, which needs a restart", engine=pool.spec.name)
            continue
        listing = await asyncio.to_thread(listed, spec)
        try:
            await pool.swap(spec, listing)
        except EngineUnavailable as error:
            log.warning("engine goes on as it was", engine=spec.name, reason=error.message)
            continue
        log.info("engine is renewed", engine=spec.name)
        if not pool.is_running:
            run(pool)
    for spec in told.values():
        log.warning("engine came into the settings, which needs a restart", engine=spec.name)


def listed(spec: EngineSpec) -> Listing | None:
    """Return what the registry knows of an engine; imports its code and no other's."""
    if spec.target is not None:
        return None
    try:
        return registry.listing(spec.kind, spec.name, spec.options)
    except UnknownEngine:  # which its host finds too, and says
        return None
