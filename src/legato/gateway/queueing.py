"""The jobs of a gateway's streams: whose client is gone stands back for those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import msgspec

from legato.bus.base import Job, Jobs, StreamKey
from legato.errors import LegatoError
from legato.gateway.relay import Relay
from legato.protocol.messages import StreamStart

GRACE: Final = 0.5
"""Seconds that a lost client's job keeps its place: most clients are back by then."""


class Queueing:
    """Submits jobs, and takes back those of which nothing has come and for which nobody waits.

    A worker does the first of all streams in the order in which they came. 300 that were opened
    with a short text and dropped at once held up the next by 13 s (measured, hibari on two cores).
    What is taken back loses nothing: its text is in the log, and is done when its client is back.

    Args:
        jobs: Of the bus.
        has: Tells whether a stream is this gateway's still.
        spawn: Runs work to its end.
    """

    def __init__(
        self,
        jobs: Jobs,
        *,
        has: Callable[[StreamKey], bool],
        spawn: Callable[[Coroutine[object, object, None]], None],
    ) -> None:
        self._jobs = jobs
        self._has = has
        self._spawn = spawn
        # Of streams whose job may not be on the bus; what is said of one job is said in order.
        self._unsure: dict[Relay, asyncio.Lock] = {}

    async def submit(self, relay: Relay) -> None:
        """Have a worker take the stream, unless it was dropped.

        Raises:
            LegatoError: If the bus does not take the job.
        """
        start, engine = relay.stream.start, relay.stream.engine
        if start.voice is not None:  # which may be an alias
            start = msgspec.structs.replace(start, voice=relay.stream.voice)
        await self._jobs.submit(Job(key=relay.key, engine=engine, start=start, seed=seed_of(start)))
        if not self._has(relay.key):  # dropped while the job was on its way
            await self._jobs.withdraw(relay.key)

    def left(self, relay: Relay) -> None:
        """The client is gone: its job stands back in a moment, unless something has come of it."""
        if not relay.is_begun:
            asyncio.get_running_loop().call_later(GRACE, self._stand_back, relay)

    def taken(self, relay: Relay) -> None:
        """The stream was another gateway's, which may have taken its job back."""
        if not relay.is_begun:
            self._unsure[relay] = asyncio.Lock()

    def back(self, relay: Relay) -> None:
        """The client is there: its job is on the bus, or will be."""
        if relay in self._unsure:
            self._spawn(self._resubmit(relay))

    def forget(self, relay: Relay) -> None:
        """The stream is not this gateway's any more."""
        self._unsure.pop(relay, None)

    def _stand_back(self, relay: Relay) -> None:
        if not self._is_awaited(relay):
            self._spawn(self._recall(relay))

    async def _recall(self, relay: Relay) -> None:
        async with self._unsure.setdefault(relay, asyncio.Lock()):
            if not self._is_awaited(relay):
                await self._jobs.withdraw(relay.key)

    async def _resubmit(self, relay: Relay) -> None:
        async with self._unsure.setdefault(relay, asyncio.Lock()):
            try:
                await self.submit(relay)
            except LegatoError as error:
                relay.fail_with(error)
            if relay.is_begun or not self._has(relay.key):
                self._unsure.pop(relay, None)

    def _is_awaited(self, relay: Relay) -> bool:
        """Whether the job is to stay: somebody waits, something has come, or it is not ours."""
        return relay.listener is not None or relay.is_begun or not self._has(relay.key)


def seed_of(start: StreamStart) -> int:
    """Return the seed asked for in `options`; by itself the same text sounds the same."""
    seed = start.options.get("seed", 0)
    return seed if isinstance(seed, int) and 0 <= seed < 1 << 32 else 0
