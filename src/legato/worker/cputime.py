"""The processor time that another process has used, where the system tells it."""

from __future__ import annotations

import sys
import time
from typing import Final

_SCHED: Final = 2
"""CPUCLOCK_SCHED of the Linux kernel: user and system time."""


def cpu_seconds(pid: int) -> float | None:
    """Return user and system time of all threads of a process, in seconds; None if unknown.

    Linux makes the clock's number from the process id as clock_getcpuclockid(3) of its C libraries
    does, which Python does not offer for processes; elsewhere nothing is known.
    """
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime((~pid << 3) | _SCHED)
    except (OSError, OverflowError):
        return None
