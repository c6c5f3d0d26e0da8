"""SIGUSR1: the engines of a worker are loaded anew, with the settings as they are now."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from legato.errors import LegatoError
from legato.telemetry.logs import logger

if TYPE_CHECKING:
    from legato.worker.config import WorkerConfig

log = logger("legato.cli.renewing")


class Renewed(Protocol):
    """What has engines."""

    async def renew(self, worker: WorkerConfig) -> None:
        """Load them anew, with the options that they have now."""


@asynccontextmanager
async def renewing(node: Renewed, reread: Callable[[], WorkerConfig] | None) -> AsyncIterator[None]:
    """Obey the signal for the length of the block.

    Args:
        node: Has the engines.
        reread: Reads their settings; None where there are no engines: the signal means nothing.
    """
    if reread is None:
        yield
        return
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, asked.set)
    obeying = asyncio.create_task(_obey(asked, node, reread))
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)
        obeying.cancel()
        await asyncio.wait({obeying})


async def _obey(asked: asyncio.Event, node: Renewed, reread: Callable[[], WorkerConfig]) -> None:
    while True:
        await asked.wait()
        asked.clear()
        try:
            await node.renew(await asyncio.to_thread(reread))
        except LegatoError as error:
            log.warning("engines go on as they were", code=error.code, reason=error.message)
