"""A bus that random histories are played on."""

import asyncio
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from typing import ClassVar, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from tests.contract.buses import Implementation, Rig

T = TypeVar("T")


class BusLaws(RuleBasedStateMachine):
    """A bus and a loop to run it on."""

    implementation: ClassVar[Implementation]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.rig: Rig = self.run(self.stack.enter_async_context(self.implementation.open()))

    def run(self, awaitable: Awaitable[T]) -> T:
        return self.loop.run_until_complete(awaitable)

    def teardown(self) -> None:
        try:
            self.run(self.at_the_end())
            self.run(self.stack.aclose())
        finally:
            self.loop.close()

    async def at_the_end(self) -> None:
        """Check what must hold at last."""
