"""What a gateway does for the logs of its streams besides carrying entries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
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

TRIM_SOON: Final = 0.25
"""Seconds until a stream is trimmed that moved much (`Relay.is_heavy`)."""

TRIM_BATCH: Final = 64
"""Trims that are under way at the same time, so that they share round trips."""

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
        self._moved: set[Relay] = set()
        self._trim_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def note_moved(self, relay: Relay) -> None:
        """There may be something to trim."""
        self._moved.add(relay)
        timer = self._trim_timer
        if timer is None:
            loop = asyncio.get_running_loop()
            self._trim_timer = loop.call_later(TRIM_EVERY, self._begin_trim)
        elif relay.is_heavy:
            loop = asyncio.get_running_loop()
            if timer.when() > loop.time() + TRIM_SOON:
                timer.cancel()
                self._trim_timer = loop.call_later(TRIM_SOON, self._begin_trim)

    def forget(self, relay: Relay) -> None:
        """The stream is gone, or another gateway's."""
        self._moved.discard(relay)

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
        if self._trim_timer is not None:
            self._trim_timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT)

    def _begin_trim(self) -> None:
        self._trim_timer = None
        moved, self._moved = self._moved, set()
        self.spawn(self._trim(moved))

    async def _trim(self, relays: set[Relay]) -> None:
        queue = list(relays)
        for at in range(0, len(queue), TRIM_BATCH):
            trims = []
            for relay in queue[at : at + TRIM_BATCH]:
                relay.count_audio()
                for direction, (upto, note) in relay.take_trims().items():
                    trims.append(self._logs.trim(relay.key, direction, upto=upto, note=note))
            for outcome in await asyncio.gather(*trims, return_exceptions=True):
                if outcome is not None:
                    raise outcome

    async def _guard(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except LegatoError as error:
            log.warning("upkeep of streams failed", code=error.code)
        except Exception:  # top of a task
            log.exception("upkeep of streams failed")
