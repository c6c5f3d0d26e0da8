"""How much memory this process has."""

from __future__ import annotations

import os
from pathlib import Path

STATM = Path("/proc/self/statm")


def resident_bytes(statm: Path = STATM) -> int | None:
    """Return the resident memory in bytes (proc(5)), or None where the system does not tell.

    It reads a file, so that an event loop has it called in a thread.

    Args:
        statm: Where the system tells.
    """
    try:
        pages = int(statm.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
