"""All hosts of one engine: started, replaced when they die, and chosen for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol

from legato.engines.base import EngineInfo
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, Overloaded
from legato.telemetry.logs import logger
from legato.telemetry.metrics import ENGINE_LOSSES, ENGINE_PROCESSES
from legato.worker.calls import EngineCall, EngineLost, EngineRefused, Request
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.inline import InlineHost
from legato.worker.line import Queued, WaitingLine, untold
from legato.worker.process import EngineProcess

STEADY: Final = 60.0
"""Seconds that a process must live for its death to count as the first in a row."""

log = logger("legato.worker.pool")


class Host(Protocol):
    """Where an engine runs."""

    @property
    def free(self) -> int:
        """Calls that may be opened now."""

    async def start(self) -> EngineInfo:
        """Load the engine.

        Raises:
            EngineRefused: If it says that it cannot be loaded.
            EngineLost: If it died or took too long.
        """

    def open(self, request: Request) -> EngineCall:
        """Begin a call; the caller has looked at `free`."""

    async def lost(self) -> str:
        """Wait until it is gone; return the cause in a word."""

    async def stop(self) -> None:
        """End it."""


class PoolState(StrEnum):
    """Whether an engine can be used."""

    LOADING = "loading"
    READY = "ready"
    UNAVAILABLE = "unavailable"


class EnginePool:
    """One engine of a worker.

    Args:
        spec: Which engine, and how many processes.
        config: For the time-outs.
        listing: What the registry knows of it; None if it does not stand there.
        changed: Called when `state` or `slots` change.

    Attributes:
        info: What it says of itself, once known.
        reason: Why it is unavailable, and what to do.
        add_command: What the user types to add it, where it says so.
    """

    def __init__(
        self,
        spec: EngineSpec,
        config: WorkerConfig,
        listing: Listing | None,
        changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.info = None if listing is None else listing.info
        self.add_command = None if listing is None else listing.add_command
        self.reason = None if listing is None else listing.missing
        self._config = config
        self._changed = changed
        self._hosts: list[Host] = []
        self._line = WaitingLine()
        self._settled = asyncio.Event()
        self._ready = asyncio.Event()
        if self.reason is not None:
            self._settled.set()

    @property
    def state(self) -> PoolState:
        """Whether calls can be opened; an engine that is being replaced is still ready."""
        if self.reason is not None:
            return PoolState.UNAVAILABLE
        return PoolState.READY if self._ready.is_set() else PoolState.LOADING

    @property
    def slots(self) -> int:
        """Streams that it serves at once, 0 until it is ready."""
        if self.info is None or self.state is not PoolState.READY:
            return 0
        each = min(self.info.slots, self.spec.slots or self.info.slots)
        return each * self._host_count

    @property
    def _host_count(self) -> int:
        inline = self.info is not None and self.info.inline and self.spec.target is None
        return 1 if inline else self.spec.processes

    @property
    def has_free_slot(self) -> bool:
        """Whether a call would be opened without a wait."""
        return not self._line and any(host.free for host in self._hosts)

    async def settled(self) -> None:
        """Wait until the engine is ready, or known to be unavailable."""
        await self._settled.wait()

    async def ready(self) -> None:
        """Wait until the engine has been ready once."""
        await self._ready.wait()

    async def run(self) -> None:
        """Keep the hosts alive, for as long as the engine can be used."""
        if self.reason is None:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._host_count):
                    group.create_task(self._keep())

    async def open(self, request: Request, *, queued: Queued = untold) -> EngineCall:
        """Begin a call on the host with most free slots, waiting for its turn if need be.

        Args:
            request: What to do.
            queued: Told of the call's place while it waits.

        Raises:
            EngineUnavailable: If the engine cannot be used, or was not restarted in time.
            Overloaded: If no slot became free in time.
        """

        def attempt() -> EngineCall | None:
            if self.reason is not None:
                raise EngineUnavailable(self.reason)
            host = max(self._hosts, key=lambda host: host.free, default=None)
            return host.open(request) if host is not None and host.free else None

        try:
            async with asyncio.timeout(self._config.slot_timeout):
                return await self._line.stand(attempt, queued=queued)
        except TimeoutError as error:
            if not self._hosts:
                raise EngineUnavailable(
                    f"{self.spec.name} is being restarted", retry_after=self._config.slot_timeout
                ) from error
            raise Overloaded(
                f"{self.spec.name} had no free slot for {self._config.slot_timeout:g} s",
                retry_after=self._config.slot_timeout,
            ) from error

    def _wake(self) -> None:
        self._line.wake()

    def _make_host(self) -> Host:
        if self.info is not None and self.info.inline and self.spec.target is None:
            return InlineHost(self.spec, self._config, freed=self._wake)
        return EngineProcess(self.spec, self._config, freed=self._wake)

    async def _keep(self) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            host = self._make_host()
            began = loop.time()
            try:
                info = await host.start()
            except EngineRefused as error:
                self._become_unavailable(error.message, error.info)
                return
            except EngineLost as error:
                cause = "load"
                log.warning("engine process did not start", engine=self.spec.name, why=str(error))
                if not self._ready.is_set():
                    self._become_unavailable(f"{self.spec.name} {error}; see the log", None)
            else:
                cause = await self._serve(host, info)
            failures = failures + 1 if loop.time() - began < STEADY else 1
            ENGINE_LOSSES.labels(self.spec.name, cause).inc()
            await asyncio.sleep(self._delay(failures))

    async def _serve(self, host: Host, info: EngineInfo) -> str:
        self.info, self.reason = info, None
        self._ready.set()
        self._hosts.append(host)
        ENGINE_PROCESSES.labels(self.spec.name).inc()
        self._settled.set()
        self._changed()
        self._wake()
        try:
            return await host.lost()
        finally:
            self._hosts.remove(host)
            ENGINE_PROCESSES.labels(self.spec.name).dec()
            await host.stop()

    def _become_unavailable(self, reason: str, info: EngineInfo | None) -> None:
        if self._hosts:
            return
        self.reason, self.info = reason, info or self.info
        log.warning("engine unavailable", engine=self.spec.name, reason=reason)
        self._settled.set()
        self._changed()
        self._wake()

    def _delay(self, failures: int) -> float:
        """Return the seconds before the restart after so many deaths in a row."""
        if failures <= 1:
            return 0.0
        doubled = self._config.restart_delay * 2.0 ** min(failures - 2, 30)
        return min(doubled, self._config.max_restart_delay)
