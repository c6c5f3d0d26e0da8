"""Reading all that a log keeps, while others may be trimming it."""

from __future__ import annotations

from legato.bus.base import Direction, Entry, Logs, StreamKey
from legato.errors import ResumeGap


async def read_kept(logs: Logs, key: StreamKey, direction: Direction) -> list[Entry]:
    """Return all entries of a log, from the first that is kept.

    Args:
        logs: Of the bus.
        key: The stream.
        direction: Which of its logs.

    Raises:
        SessionExpired: If the log is gone.
    """
    after = 0
    entries: list[Entry] = []
    while True:
        try:
            page = await logs.read(key, direction, after=after)
        except ResumeGap as gap:
            if gap.missing is None or gap.missing[1] <= after + 1:
                raise
            entries.clear()
            after = gap.missing[1] - 1
            continue
        if not page:
            return entries
        entries.extend(page)
        after = page[-1].number
