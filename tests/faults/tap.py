"""Reads along in the logs of a Redis, as any other process could: for I5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from legato.bus.base import Direction, Entry, Item, StreamKey, Subscription
from legato.bus.redis import RedisBus, RedisConfig
from legato.errors import LegatoError, ResumeGap
from legato.protocol.media import AudioFrame
from tests.faults.history import History

TENANT = "default"


class Tap:
    """Tells a history of every entry of the streams that it follows.

    Args:
        url: Of the Redis.
        history: Where entries are told.
    """

    def __init__(self, url: str, history: History) -> None:
        self._url = url
        self._history = history
        self._bus: RedisBus | None = None
        self._following: dict[tuple[str, Direction], Subscription] = {}
        self._last: dict[tuple[str, Direction], int] = {}

    async def start(self) -> None:
        """Connect."""
        self._bus = await RedisBus.open(RedisConfig(url=self._url))

    async def stop(self) -> None:
        """Follow nothing any more."""
        for subscription in self._following.values():
            subscription.close()
        if self._bus is not None:
            await self._bus.close()

    def follow(self, stream_id: str) -> None:
        """Follow both logs of a stream that is there."""
        for direction in Direction:
            self._follow(stream_id, direction, 0)

    def _follow(self, stream_id: str, direction: Direction, after: int) -> None:
        assert self._bus is not None
        key = StreamKey(TENANT, stream_id)
        self._following[stream_id, direction] = self._bus.logs.follow(
            key,
            direction,
            partial(self._deliver, stream_id, direction),
            after=after,
            closed=partial(self._closed, stream_id, direction),
        )

    def _deliver(self, stream_id: str, direction: Direction, entries: Sequence[Entry]) -> None:
        for entry in entries:
            epoch = max(
                (item.epoch for item in entry.items if isinstance(item, AudioFrame)),
                default=self._last.get((stream_id, direction), 0),
            )
            self._last[stream_id, direction] = epoch
            self._history.record(
                "tap",
                "entry",
                "ok",
                stream=stream_id,
                direction=direction.value,
                number=entry.number,
                epoch=epoch,
                seqs=[seq for item in entry.items if (seq := seq_of(item)) is not None],
            )

    def _closed(self, stream_id: str, direction: Direction, reason: LegatoError) -> None:
        if isinstance(reason, ResumeGap) and reason.missing is not None:
            # Trimmed before it was read: what the bus promises begins at the first entry kept.
            upto = reason.missing[1]
            facts = {"stream": stream_id, "direction": direction.value, "upto": upto}
            self._history.record("tap", "trimmed", "info", **facts)
            self._follow(stream_id, direction, upto - 1)


def seq_of(item: Item) -> int | None:
    """The wire number of an item; None for what has none."""
    seq = getattr(item, "seq", None)
    numbered = type(item).__name__ not in {"Committed", "Notice", "Error"}
    return seq if numbered and isinstance(seq, int) else None
