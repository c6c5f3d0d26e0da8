"""The first moments of the program, before anything slow is imported, and its last."""

from __future__ import annotations

import os
import sys
from _signal import SIGINT, signal  # type: ignore[import-not-found]  # `signal` loads enum first; Ctrl-C does not wait

INTERRUPTED = 130


def hold_places() -> None:
    """Open what is closed of the first three descriptors, before a socket gets such a number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (pathlib is slow to import; to the end)


def end_at_once() -> None:
    """Have Ctrl-C end the program where it stands, while there is nothing to clean up.

    An exception could be lost, or shown, in the middle of an import or of the interpreter's end.
    """
    signal(SIGINT, _leave)


def catch_early() -> None:
    """Have Ctrl-C end the program without a traceback while no event loop runs."""
    signal(SIGINT, _end)


def _leave(_number: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def _end(_number: int, _frame: object) -> None:
    raise SystemExit(INTERRUPTED)
