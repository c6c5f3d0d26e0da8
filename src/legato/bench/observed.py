"""`legato` in a process that says what it holds: on SIGUSR2 it writes the figures into a file.

What is measured is unchanged; only the signal is added. Arguments: the file, then those of
`legato`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import runpy
import signal
import sys
import threading
from pathlib import Path


def holdings() -> dict[str, int]:
    """Count the running loop's tasks that are not done, and threads."""
    gc.collect()
    return {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count()}


def main() -> None:
    """Run `legato` and answer the signal."""
    path = Path(sys.argv.pop(1))

    def answer(_number: int, _frame: object) -> None:
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(holdings()), "utf-8")
        fresh.replace(path)

    signal.signal(signal.SIGUSR2, answer)
    runpy.run_module("legato", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
