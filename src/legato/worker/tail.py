"""Following an up log from the first entry that is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.bus.base import Deliver, Direction, Entry, Logs, StreamKey, Subscription
from legato.errors import LegatoError, ResumeGap


class Tail:
    """A place in an up log that can be left and taken up again.

    What was trimmed before the first entry comes was done with, and is not missed.

    Args:
        logs: Of the bus.
        key: The stream.
        deliver: Takes the entries.
        failed: Takes the reason why no more will come.
    """

    def __init__(
        self,
        logs: Logs,
        key: StreamKey,
        *,
        deliver: Deliver,
        failed: Callable[[LegatoError], None],
    ) -> None:
        self._logs = logs
        self._key = key
        self._deliver = deliver
        self._failed = failed
        self._after = 0
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
        self._after = entries[-1].number
        self._deliver(entries)

    def _end(self, reason: LegatoError) -> None:
        self._subscription = None
        if isinstance(reason, ResumeGap) and reason.missing and not self._after:
            self._after = reason.missing[1] - 1
            self.open()
        else:
            self._failed(reason)
