"""Who may append to a log of a memory bus, and what he tells his owner."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from legato.bus.base import Failed, Item, Stored
from legato.bus.memory.log import Log
from legato.errors import LegatoError


class Writer:
    """Appends to a log for as long as no higher fence holds it; fills the port's `LogWriter`.

    An entry is stored once it is appended; `stored` is told in the loop's next turn.
    """

    __slots__ = (
        "__weakref__",
        "_failed",
        "_is_telling",
        "_log",
        "_number",
        "_stored",
        "fence",
    )

    def __init__(
        self, log: Log, fence: int, *, stored: Stored | None = None, failed: Failed | None = None
    ) -> None:
        self._log = log
        self._number = 0
        self._stored = stored
        self._is_telling = stored is None
        self._failed = failed
        self.fence = fence
        log.raise_fence(fence)
        if failed is not None:
            log.watch(self)

    def append(self, items: Sequence[Item]) -> None:
        log = self._log
        if self.fence < log.fence or log.reason is not None:
            self._admit()
        self._number = log.append(items)
        if not self._is_telling:
            self._is_telling = True
            log.after_turn(self._tell)

    @property
    def stored(self) -> int:
        return self._number

    async def settle(self) -> None:
        self._admit()

    @property
    def has_room(self) -> bool:
        return self._log.has_room

    async def room(self) -> None:
        await self._log.room(self._admit)

    def fail(self, reason: LegatoError) -> None:
        """Tell that nothing can be written any more."""
        if self._failed is not None:
            self._failed(reason)

    def _tell(self) -> None:
        self._is_telling = False
        if self._stored is not None:
            try:
                self._stored(self._number)
            except Exception as error:  # noqa: BLE001 - one's fault must not cost the others
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "who was told what is stored raised", "exception": error}
                )

    def _admit(self) -> None:
        refusal = self._log.refusal(self.fence)
        if refusal is not None:
            raise refusal
