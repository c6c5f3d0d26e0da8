"""What a gateway does for the logs of its streams besides carrying entries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final

from legato.bus.base import Logs, StreamKey
from legato.errors import LegatoError
from legato.gateway.relay import Relay
from legato.telemetry.logs import logger

log = logger(__name__)

TTL: Final = 240.0
"""Seconds without a touch until the bus forgets a stream, as nobody is left who would end it."""

TOUCH_EVERY: Final = 60.0

TRIM_EVERY: Final = 2.0
"""Seconds between two trims of what moves at the pace of speech: each costs as much as a frame."""

TRIM_SOON: Final = 0.05
"""Seconds until a stream is trimmed that moved much (`Relay.is_heavy`)."""

TRIM_BATCH: Final = 16
"""Streams that are trimmed together, so that they share round trips."""

TRIM_PAUSE: Final = 0.005
"""Seconds between two such batches: all streams at once would hold up what is said meanwhile."""

CLOSE_TIMEOUT: Final = 5.0
"""Seconds for the bus to do what is left when the gateway ends."""


class Upkeep:
    """Trims and touches logs.

    Args:
        logs: Of the bus.
        keys: Returns the streams of this gateway.
    """

    def __init__(self, logs: Logs, keys: Callable[[], Iterable[StreamKey]]) -> None:
        self._logs = logs
        self._keys = keys
        self._moved: dict[Relay, float] = {}
        self._heavy: dict[Relay, float] = {}
        self._trim_timer: asyncio.TimerHandle | None = None
        self._trim_at = 0.0
        self._trimming = self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    def note_moved(self, relay: Relay) -> None:
        """There may be something to trim."""
        if relay not in self._moved:
            now = asyncio.get_running_loop().time()
            self._moved[relay] = now + TRIM_EVERY
            self._trim_later()
        elif relay.is_heavy and relay not in self._heavy:
            now = asyncio.get_running_loop().time()
            self._heavy[relay] = now + TRIM_SOON
            self._trim_later()

    def forget(self, relay: Relay) -> None:
        """The stream is gone, or another gateway's."""
        self._moved.pop(relay, None)
        self._heavy.pop(relay, None)

    async def touch(self, key: StreamKey, ttl: float = TTL) -> None:
        """Let a stream live for `ttl` seconds more."""
        await self._logs.touch(key, ttl=ttl)

    async def keep_alive(self) -> None:
        """Touch the logs of all streams, for ever; a stream that is served does not expire."""
        while True:
            await asyncio.sleep(TOUCH_EVERY)
            for key in list(self._keys()):
                await self._guard(self.touch(key))

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run work that must come to its end even if the connection that asked for it does not."""
        task = asyncio.get_running_loop().create_task(self._guard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop trimming, and wait for what is under way."""
        self._closed = True
        if self._trim_timer is not None:
            self._trim_timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT)

    def _trim_later(self, pause: float = 0.0) -> None:
        """Set the timer to when the next stream is due, in `pause` seconds or later."""
        due = min(
            (next(iter(some.values())) for some in (self._heavy, self._moved) if some), default=None
        )
        if due is None or self._trimming:
            return
        loop = asyncio.get_running_loop()
        due = max(due, loop.time() + pause)
        if self._trim_timer is not None:
            if self._trim_at <= due:
                return
            self._trim_timer.cancel()
        self._trim_at = due
        self._trim_timer = loop.call_at(due, self._begin_trim)

    def _begin_trim(self) -> None:
        self._trim_timer = None
        now = asyncio.get_running_loop().time()
        due = [relay for some in (self._heavy, self._moved) for relay in _due(some, now)]
        batch = list(dict.fromkeys(due))[:TRIM_BATCH]
        for relay in batch:
            self.forget(relay)
        self._trimming = True
        self.spawn(self._trim(batch))

    async def _trim(self, relays: Sequence[Relay]) -> None:
        trims = []
        try:
            for relay in relays:
                relay.count_audio()
                for direction, (upto, note) in relay.take_trims().items():
                    trims.append(self._logs.trim(relay.key, direction, upto=upto, note=note))
            for outcome in await asyncio.gather(*trims, return_exceptions=True):
                if outcome is not None:
                    raise outcome
        finally:
            self._trimming = False
            if not self._closed:
                self._trim_later(TRIM_PAUSE)

    async def _guard(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except LegatoError as error:
            log.warning("upkeep of streams failed", code=error.code)
        except Exception:  # top of a task
            log.exception("upkeep of streams failed")


def _due(queue: Mapping[Relay, float], now: float) -> Iterable[Relay]:
    """Return the first relays of a queue that are due, enough for a batch."""
    first = islice(queue.items(), TRIM_BATCH)
    return [relay for relay, _ in takewhile(lambda pair: pair[1] <= now, first)]
