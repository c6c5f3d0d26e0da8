"""Loaded by Python at its start: the wall clock is `LEGATO_SKEW` seconds off once a file is there.

`time.monotonic` and the loop's clock stay as they are, as on a machine whose clock is set.
"""

import os
import time
from pathlib import Path

_wall = time.time
_skew = float(os.environ.pop("LEGATO_SKEW", "0"))
_file = Path(os.environ.pop("LEGATO_SKEW_FILE", "/nowhere"))


def skewed() -> float:
    """The wall clock, set wrong."""
    return _wall() + (_skew if _file.exists() else 0.0)


if _skew:
    time.time = skewed
    Path(f"{os.getpid()}.skew").write_text(f"{_skew:.0f}")
