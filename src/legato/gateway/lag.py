"""How late the event loop is: what a saturated gateway shows first."""

from __future__ import annotations

import asyncio
from typing import Final

from prometheus_client import Histogram

from legato.telemetry.metrics import LOOP_LAG

EVERY: Final = 0.1
"""Seconds between two looks: ten timers a second cost nothing that can be measured."""


async def watch_lag(histogram: Histogram = LOOP_LAG) -> None:
    """Note by how many seconds each look came late, until cancelled.

    Args:
        histogram: Where it is noted.
    """
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY
        await asyncio.sleep(EVERY)
        histogram.observe(max(0.0, loop.time() - due))
