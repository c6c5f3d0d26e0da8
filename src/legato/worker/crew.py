"""The hosts of one engine with one set of options: started, replaced when they die, dismissed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from legato.engines.base import EngineInfo
from legato.telemetry.logs import logger
from legato.telemetry.metrics import ENGINE_LOSSES, ENGINE_PROCESSES
from legato.worker.calls import EngineLost, EngineRefused, Freed
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.inline import InlineHost
from legato.worker.process import EngineProcess
from legato.worker.template import template_for
from legato.worker.tenure import Host, Tenure
from legato.worker.wear import Uses

RETIREMENT: Final = 600.0
"""Seconds that the calls of a replaced process may take to end; those left go on in another."""

STEADY: Final = 60.0
"""Seconds that a process must live for its death to count as the first in a row."""

log = logger("legato.worker.crew")


class Crew:
    """Serves an engine as it is set up at one time.

    Args:
        spec: Which engine, and how many processes.
        config: For the time-outs.
        info: What is known of the engine.
        freed: Called when a slot becomes free, with the seconds for which it was taken.
        changed: Called with it when a host came or went, or the engine cannot be used.

    Attributes:
        info: What the engine says of itself, once known.
        reason: Why it cannot be used.
        tenures: Hosts that take calls.
        settled: Set once it serves, or is known not to be able to.
        ready: Set once it serves.
        over: Set when none of its hosts is left.
    """

    def __init__(
        self,
        spec: EngineSpec,
        config: WorkerConfig,
        info: EngineInfo | None,
        *,
        freed: Freed,
        changed: Callable[[Crew], None],
    ) -> None:
        self.spec = spec
        self.info = info
        self.reason: str | None = None
        self.tenures: list[Tenure] = []
        self.settled = asyncio.Event()
        self.ready = asyncio.Event()
        self.over = asyncio.Event()
        self._config = config
        self._on_freed = freed
        self._changed = changed
        self._retiring: list[Tenure] = []
        self._dismissed = asyncio.Event()
        self._rng = Random()  # noqa: S311  (no secret)
        self._template = template_for(spec, config)

    async def run(self) -> None:
        """Keep the hosts alive until it is dismissed, or the engine says that it cannot be used."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(host_count(self.spec, self.info)):
                    group.create_task(self._keep())
        finally:
            self.over.set()
            self.settled.set()
            if self._template is not None:
                await self._template.stop()

    def dismiss(self) -> None:
        """Take no further calls; `run` ends when those that are there have ended."""
        self._dismissed.set()
        for tenure in self.tenures:
            tenure.replaced.set()

    def keep_prompts(self, digests: Collection[str]) -> None:
        """Have all hosts forget the recordings of all voices but some."""
        for tenure in (*self.tenures, *self._retiring):
            tenure.host.keep_prompts(digests)

    def delay(self, failures: int) -> float:
        """Return the seconds before the restart after so many deaths in a row."""
        if failures <= 1:
            return 0.0
        doubled = self._config.restart_delay * 2.0 ** min(failures - 2, 30)
        return min(doubled, self._config.max_restart_delay)

    def _freed(self, held: float) -> None:
        for tenure in self._retiring:
            tenure.look()
        self._on_freed(held)

    def _make_host(self) -> Host:
        if is_inline(self.spec, self.info):
            return InlineHost(self.spec, self._config, freed=self._freed)
        return EngineProcess(self.spec, self._config, freed=self._freed, template=self._template)

    async def _keep(self) -> None:
        """Keep one process alive: replace it when it is lost, and before it is worn out."""
        failures, loop = 0, asyncio.get_running_loop()
        worn: Tenure | None = None
        async with asyncio.TaskGroup() as group:
            while not self._dismissed.is_set():
                began, host = loop.time(), self._make_host()
                started = await self._start(host)
                if started is None:
                    return
                if started:
                    if worn is not None:
                        worn.replaced.set()
                    worn = Tenure(host, self._uses(host))
                    if await worn.is_worn(group.create_task(self._serve(worn))):
                        failures = 0
                        continue  # the next is loaded beside it, and takes over then
                    worn = None
                failures = failures + 1 if loop.time() - began < STEADY else 1
                await asyncio.sleep(self.delay(failures))

    async def _start(self, host: Host) -> bool | None:
        """Tell whether a host is warm now; None if it is not wanted, or will never be."""
        try:
            self.info = await host.start()
        except EngineRefused as error:
            self._become_unavailable(error.message, error.info)
            return False if self.tenures else None
        except EngineLost as error:
            self._note_not_started(error)
            return False
        if self._dismissed.is_set():
            await host.stop()
            return None
        return True

    def _uses(self, host: Host) -> Uses:
        lasts = isinstance(host, InlineHost)
        limit = None if lasts else self._config.recycle_after
        return Uses(limit, self._config.recycle_jitter, self._rng)

    def _note_not_started(self, error: EngineLost) -> None:
        log.warning("engine process did not start", engine=self.spec.name, why=str(error))
        ENGINE_LOSSES.labels(self.spec.name, "load").inc()
        if not self.ready.is_set():
            self._become_unavailable(f"{self.spec.name} {error}; see the log", None)

    async def _serve(self, tenure: Tenure) -> None:
        """Offer a host until it is lost, or replaced and at rest; then end it."""
        self.reason = None
        self.tenures.append(tenure)
        ENGINE_PROCESSES.labels(self.spec.name).inc()
        self.ready.set()
        self.settled.set()
        self._changed(self)
        try:
            cause = await tenure.until_replaced()
            self.tenures.remove(tenure)
            if cause is None:
                self._retiring.append(tenure)
                log.info("engine process is replaced", engine=self.spec.name)
                cause = await tenure.until_at_rest(RETIREMENT)
            if cause is not None:
                ENGINE_LOSSES.labels(self.spec.name, cause).inc()
        finally:
            for tenures in (self.tenures, self._retiring):
                if tenure in tenures:
                    tenures.remove(tenure)
            ENGINE_PROCESSES.labels(self.spec.name).dec()
            await tenure.host.stop()

    def _become_unavailable(self, reason: str, info: EngineInfo | None) -> None:
        log.warning("engine unavailable", engine=self.spec.name, reason=reason)
        if self.tenures:  # others serve on
            return
        self.reason, self.info = reason, info or self.info
        self.settled.set()
        self._changed(self)


def is_inline(spec: EngineSpec, info: EngineInfo | None) -> bool:
    """Tell whether an engine runs in the worker's own process."""
    return info is not None and info.inline and spec.target is None


def host_count(spec: EngineSpec, info: EngineInfo | None) -> int:
    """Return how many hosts an engine has."""
    return 1 if is_inline(spec, info) else spec.processes
