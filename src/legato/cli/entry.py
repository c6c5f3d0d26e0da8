"""The first moments of the program, before anything slow is imported."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final, NoReturn

INTERRUPTED: Final = 130


def hold_places() -> None:
    """Open what is closed of the first three descriptors, before a socket gets such a number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (to the end)


def catch_early() -> None:
    """Have Ctrl-C end the program without a traceback while no event loop runs."""
    signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(INTERRUPTED)
