"""Attempts to connect that are under way at the same time: the first that succeeds wins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from legato.client.wire import Socket
from legato.errors import LegatoError

MOST: Final = 3
"""Attempts under way at once."""


class Race:
    """Attempts of which one is wanted.

    A server that is late may be on its way to the first of them, so that one is never given up for
    a later one; the network may have lost it, so there are later ones.

    Args:
        dial: Opens a socket.
    """

    def __init__(self, dial: Callable[[], Awaitable[Socket]]) -> None:
        self._dial = dial
        self._attempts: list[asyncio.Task[Socket]] = []
        self._given_up: set[asyncio.Task[Socket]] = set()

    def __len__(self) -> int:
        return len(self._attempts)

    def begin(self) -> None:
        """Begin another attempt; if there are too many, the second oldest is given up for it."""
        if len(self._attempts) >= MOST:
            self._give_up(self._attempts.pop(1))
        self._attempts.append(asyncio.get_running_loop().create_task(self._attempt()))

    async def first(self, within: float) -> Socket | LegatoError | None:
        """Wait for the next attempt to end.

        Args:
            within: Seconds to wait.

        Returns:
            Its socket, or why it failed; None if none ended.
        """
        if not self._attempts:
            await asyncio.sleep(within)
            return None
        done, _ = await asyncio.wait(
            self._attempts, timeout=within, return_when=asyncio.FIRST_COMPLETED
        )
        ended = [task for task in self._attempts if task in done]
        if not ended:
            return None
        # Of several that ended in the same moment one that succeeded is taken.
        task = next((one for one in ended if one.exception() is None), ended[0])
        self._attempts.remove(task)
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, LegatoError):
            return error
        raise error

    def end(self) -> None:
        """Give up all that are under way."""
        while self._attempts:
            self._give_up(self._attempts.pop())

    async def _attempt(self) -> Socket:
        return await self._dial()

    def _give_up(self, task: asyncio.Task[Socket]) -> None:
        self._given_up.add(task)
        task.add_done_callback(self._drop)
        task.cancel()

    def _drop(self, task: asyncio.Task[Socket]) -> None:
        """Let go of an attempt, and of the socket if it had one in spite of all."""
        self._given_up.discard(task)
        if not task.cancelled() and task.exception() is None:
            task.result().transport.abort()
