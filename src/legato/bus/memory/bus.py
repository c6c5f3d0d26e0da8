"""The memory bus as a whole: its parts, their common clock and their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from legato.bus.base import Blobs, Jobs, Logs, Registry
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.blobs import MemoryBlobs
from legato.bus.memory.bounds import Bounds
from legato.bus.memory.jobs import MemoryJobs
from legato.bus.memory.logs import MemoryLogs
from legato.bus.memory.registry import MemoryRegistry


class MemoryBus:
    """The bus of one process and one event loop; what it holds ends with the process.

    It has no task and at most one timer, whatever it holds. All deadlines (time to live,
    tombstones, leases) are read from `clock`; only how long a claim waits is the event loop's.

    Args:
        clock: Returns the monotonic time in seconds.
        bounds: How much may be held.
        stopwatch: Returns seconds too; tells when the loop was held up, so that no lease could be
            renewed in time.

    Attributes:
        jobs: Work for workers.
        logs: What flows.
        registry: Small records.
        blobs: Larger values.
        is_shared: False: no other process sees it.
    """

    is_shared: Final = False

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        bounds: Bounds | None = None,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        bounds = bounds or Bounds()
        self._clock = clock
        self._alarm = Alarm(clock, self.sweep, stopwatch=stopwatch)
        self._logs = MemoryLogs(self._alarm, bounds)
        self._jobs = MemoryJobs(self._alarm, bounds)
        self._registry = MemoryRegistry(self._alarm, bounds)
        self._blobs = MemoryBlobs(self._alarm, bounds)
        self.logs: Logs = self._logs
        self.jobs: Jobs = self._jobs
        self.registry: Registry = self._registry
        self.blobs: Blobs = self._blobs

    def sweep(self) -> None:
        """Carry out what is due by the clock; the bus does so by itself, within 20 ms."""
        now = self._clock()
        for part in (self._logs, self._jobs, self._registry, self._blobs):
            due = part.sweep(now)
            if due is not None:
                self._alarm.at(due)

    def counts(self) -> Mapping[str, int]:
        """Count what is held now, by kind: streams, jobs, records, bytes."""
        return {
            **self._logs.counts(),
            **self._jobs.counts(),
            **self._registry.counts(),
            **self._blobs.counts(),
        }

    async def close(self) -> None:
        """End all streams and waits with `BusUnavailable`, and all later use too. Idempotent."""
        self._alarm.close()
        self._logs.close()
        self._jobs.close()
