"""Following an up log from the first entry that is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.bus.base import Deliver, Direction, Entry, Item, Logs, StreamKey, Subscription
from legato.errors import LegatoError, ResumeGap


class Tail:
    """A place in an up log that can be left and taken up again.

    Entries that are trimmed before they come are done with, by this worker or one before it, and
    are not missed: trimming goes on while a stream is taken over. If what comes after them does
    not join on, that is an error.

    Args:
        logs: Of the bus.
        key: The stream.
        first_seq: Number of the first item that is needed.
        deliver: Takes the entries.
        failed: Takes the reason why no more will come.
    """

    def __init__(
        self,
        logs: Logs,
        key: StreamKey,
        *,
        first_seq: int = 0,
        deliver: Deliver,
        failed: Callable[[LegatoError], None],
    ) -> None:
        self._logs = logs
        self._key = key
        self._deliver = deliver
        self._failed = failed
        self._after = 0
        self._next_seq = first_seq
        self._gap: ResumeGap | None = None
        self._subscription: Subscription | None = None
        self.open()

    @property
    def is_open(self) -> bool:
        """Whether entries may come."""
        return self._subscription is not None

    def open(self) -> None:
        """Follow on from where the last entry came."""
        self._subscription = self._logs.follow(
            self._key, Direction.UP, self._take, after=self._after, closed=self._end
        )

    def close(self) -> None:
        """Follow no longer; what comes meanwhile waits in the log."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _take(self, entries: Sequence[Entry]) -> None:
        gap, self._gap = self._gap, None
        if gap is not None and _seq(entries[0].items[0]) > self._next_seq:
            self.close()
            self._failed(gap)
            return
        self._after = entries[-1].number
        self._next_seq = max(self._next_seq, _seq(entries[-1].items[-1]) + 1)
        self._deliver(entries)

    def _end(self, reason: LegatoError) -> None:
        self._subscription = None
        if isinstance(reason, ResumeGap) and reason.missing:
            self._gap = reason
            self._after = reason.missing[1] - 1
            self.open()
        else:
            self._failed(reason)


def _seq(item: Item) -> int:
    """Return the number of an item, -1 if it has none."""
    seq = getattr(item, "seq", None)
    return seq if isinstance(seq, int) else -1
