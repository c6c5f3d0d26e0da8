"""What a writer tells its owner, unasked."""

from __future__ import annotations

import asyncio

from legato.bus.base import Failed, Stored
from legato.errors import LegatoError


class Report:
    """Hands on what is known of one writer.

    Args:
        stored: Told when more is known to be stored.
        failed: Told when nothing can be written any more.
    """

    __slots__ = ("_failed", "_last", "_stored")

    def __init__(self, stored: Stored | None = None, failed: Failed | None = None) -> None:
        self._stored = stored
        self._failed = failed
        self._last = 0

    @property
    def wants_end(self) -> bool:
        """Whether the owner wants to know when nothing can be written any more."""
        return self._failed is not None

    def stored(self, number: int) -> None:
        """The last entry known to be stored has this number; told if that is news."""
        if number > self._last:
            self._last = number
            if self._stored is not None:
                self._stored(number)

    def failed(self, reason: LegatoError) -> None:
        """Nothing can be written any more; told with the next turn of the loop."""
        if self._failed is not None:
            asyncio.get_running_loop().call_soon(self._failed, reason)
