"""Finds what nobody will ever end: jobs whose stream is gone.

All else has a time to live. Streams run out 240 s after the last touch of their gateway, records of
processes 5 s after the last write, and no list of streams is kept beside the streams themselves.
A job that no worker can take would stay for an hour. With a round each 20 s it is gone 290 s after
its gateway was killed, also if the janitor was killed with it.
"""

from __future__ import annotations

import asyncio
from typing import Final

from legato.bus.base import Bus
from legato.bus.records import JANITOR_KIND, TENANT
from legato.errors import BusUnavailable, Overloaded
from legato.telemetry.logs import logger

TURN: Final = "turn"

TURNS: Final = 1.5
"""Rounds that a turn outlives the janitor who had it."""

log = logger(__name__)


class Janitor:
    """Cleans up, if it is this process's turn.

    Args:
        bus: What is cleaned.
        name: Of this process, nobody else's.
        every: Seconds between two rounds.
    """

    def __init__(self, bus: Bus, name: str, *, every: float) -> None:
        self._bus = bus
        self._name = name.encode()
        self._every = every

    async def run(self) -> None:
        """Clean up until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._every)
                await self._round()
        finally:
            await self._resign()

    async def sweep(self) -> int:
        """Erase the jobs whose stream is gone, if it is our turn; return how many there were.

        Raises:
            BusUnavailable: If the bus does not answer.
            Overloaded: If it has no room for the record that says whose turn it is.
        """
        if not await self._is_our_turn():
            return 0
        erased = 0
        for state in await self._bus.jobs.list():
            # The stream is always made before its job, so that this is no young one.
            if not await self._bus.logs.exists(state.key):
                erased += await self._bus.jobs.withdraw(state.key)
        return erased

    async def _round(self) -> None:
        try:
            erased = await self.sweep()
        except (BusUnavailable, Overloaded) as error:
            log.warning("nothing was cleaned up", code=error.code)
            return
        if erased:
            log.info("jobs without a stream erased", count=erased)

    async def _is_our_turn(self) -> bool:
        """Whether nobody else has done it since the last round."""
        registry = self._bus.registry
        known = await registry.get(TENANT, JANITOR_KIND, TURN)
        if known is not None and known.value != self._name:
            return False
        return await registry.put(
            TENANT,
            JANITOR_KIND,
            TURN,
            self._name,
            ttl=TURNS * self._every,
            expected=0 if known is None else known.version,
        )

    async def _resign(self) -> None:
        """Let another one begin at once."""
        registry = self._bus.registry
        try:
            known = await registry.get(TENANT, JANITOR_KIND, TURN)
            if known is not None and known.value == self._name:
                await registry.delete(TENANT, JANITOR_KIND, TURN)
        except BusUnavailable as error:
            log.debug("turn left to run out", code=error.code)
