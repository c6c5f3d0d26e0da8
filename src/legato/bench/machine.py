"""What the figures were measured on, and what processes cost there (Linux: /proc)."""

from __future__ import annotations

import os
import platform
import resource
import time
from pathlib import Path

PROC = Path("/proc")
_CPUCLOCK_SCHED = 2
"""Of the Linux kernel: user and system time; with a process id it makes the number of a clock, as
clock_getcpuclockid(3) does."""


def describe(proc: Path = PROC) -> str:
    """Return the machine in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    model = platform.machine() or "unknown processor"
    cpuinfo = proc / "cpuinfo"
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    system = f"{platform.system()} {platform.release()}"
    return f"{cores} cores, {model}, {system}, Python {platform.python_version()}"


def cpu_seconds(pid: int, proc: Path = PROC) -> float:
    """Return the CPU time so far of a process and its children, to the nanosecond (schedstat).

    What threads used that have ended is not in it; see `used_seconds`.

    Raises:
        OSError: If the process is gone, or the system has no /proc.
    """
    total = 0
    for process in [pid, *_children(pid, proc)]:
        for task in (proc / str(process) / "task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):  # the thread has ended
                continue
    return total / 1e9


def used_seconds(pid: int, proc: Path = PROC) -> float:
    """Return the CPU time so far of a process and all below it, threads that have ended included.

    Engine processes are forked by a child of their worker, and have a thread for each call.

    Raises:
        OSError: If the process is gone, or the system is not Linux.
    """
    total = 0.0
    for process in [pid, *_descendants(pid, proc)]:
        try:
            total += time.clock_gettime((~process << 3) | _CPUCLOCK_SCHED)
        except OSError:
            if process == pid:
                raise
    return total


def _descendants(pid: int, proc: Path) -> list[int]:
    found: list[int] = []
    for child in _children(pid, proc):
        found.append(child)
        try:
            found.extend(_descendants(child, proc))
        except FileNotFoundError:  # it has ended
            continue
    return found


def _children(pid: int, proc: Path) -> list[int]:
    found: list[int] = []
    for task in (proc / str(pid) / "task").iterdir():
        try:
            found.extend(int(child) for child in (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def busy_seconds(proc: Path = PROC) -> float:
    """Return the CPU time so far of all that runs on the machine, all cores together.

    Raises:
        OSError: If the system has no /proc.
    """
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
        int, (proc / "stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def open_files(pid: int, proc: Path = PROC) -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in (proc / str(pid) / "fd").iterdir())


def rss_bytes(pid: int, proc: Path = PROC) -> int:
    """Return the resident memory of a process."""
    pages = int((proc / str(pid) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def raise_open_files(wanted: int) -> int:
    """Let this process, and those it starts, open `wanted` files; return how many they may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
