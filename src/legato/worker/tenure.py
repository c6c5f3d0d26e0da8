"""The time in which one engine process serves, from the day it is warm until it is at rest."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Protocol

from legato.engines.base import EngineInfo
from legato.worker.calls import CallTable, EngineCall, Request
from legato.worker.wear import Uses


class Host(Protocol):
    """Where an engine runs."""

    @property
    def calls(self) -> CallTable:
        """Those that it has, and the slots for more."""

    async def start(self) -> EngineInfo:
        """Load the engine.

        Raises:
            EngineRefused: If it says that it cannot be loaded.
            EngineLost: If it died or took too long.
        """

    def open(self, request: Request) -> EngineCall:
        """Begin a call; the caller has seen that a slot is free."""

    def keep_prompts(self, digests: Collection[str]) -> None:
        """Forget the recordings of all voices but some."""

    async def lost(self) -> str:
        """Wait until it is gone; return the cause in a word."""

    async def stop(self) -> None:
        """End it."""


class Tenure:
    """A host that is warm.

    Args:
        host: It.
        uses: Calls that it may serve before it is replaced.

    Attributes:
        host: It.
        replaced: To be set when another has taken its place.
    """

    def __init__(self, host: Host, uses: Uses) -> None:
        self.host = host
        self.replaced = asyncio.Event()
        self._uses = uses
        self._worn = asyncio.Event()
        self._rested = asyncio.Event()

    @property
    def calls(self) -> CallTable:
        """Those that it has."""
        return self.host.calls

    def open(self, request: Request) -> EngineCall:
        """Begin a call; the caller has seen that a slot is free."""
        call = self.host.open(request)
        if self._uses.take():
            self._worn.set()
        return call

    def look(self) -> None:
        """See whether the last call has ended."""
        if not len(self.calls):
            self._rested.set()

    async def is_worn(self, serving: asyncio.Task[None]) -> bool:
        """Wait until it should be replaced (True), or `serving` it has ended (False)."""
        worn = asyncio.create_task(self._worn.wait())
        try:
            await asyncio.wait((serving, worn), return_when=asyncio.FIRST_COMPLETED)
        finally:
            worn.cancel()
        return not serving.done()

    async def until_replaced(self) -> str | None:
        """Wait until another has taken its place; return the cause if it is lost before."""
        return await self._lost_before(self.replaced)

    async def until_at_rest(self, patience: float) -> str | None:
        """Wait until its calls have ended, or for `patience` seconds; as `until_replaced`."""
        self.look()
        try:
            async with asyncio.timeout(patience):
                return await self._lost_before(self._rested)
        except TimeoutError:
            return None

    async def _lost_before(self, event: asyncio.Event) -> str | None:
        lost = asyncio.create_task(self.host.lost())
        wait = asyncio.create_task(event.wait())
        try:
            await asyncio.wait((lost, wait), return_when=asyncio.FIRST_COMPLETED)
        finally:
            wait.cancel()
            lost.cancel()
        return lost.result() if lost.done() and not lost.cancelled() else None
