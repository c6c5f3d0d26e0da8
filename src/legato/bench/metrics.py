"""What a server's /metrics say of its event loop."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from legato.bench.process import Running

LAG: Final = re.compile(r'^legato_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)$', re.MULTILINE)

Buckets = Counter[float]
"""Looks by the upper bound in seconds of the bucket they fell into."""


async def lag(server: Running) -> Buckets:
    """Ask a server how often its loop has been how late so far.

    Raises:
        OSError: If it does not answer.
        ValueError: If it has no such metric.
    """
    return buckets_of(str(await server.get("/metrics"), "utf-8"))


def buckets_of(exposition: str) -> Buckets:
    """Read the buckets, which hold all looks up to their bound, into one count for each.

    Raises:
        ValueError: If there are none.
    """
    found = sorted((float(bound), int(float(count))) for bound, count in LAG.findall(exposition))
    if not found:
        raise ValueError("the server says nothing of its loop's lag")
    below = 0
    buckets = Buckets()
    for bound, count in found:
        buckets[bound] = count - below
        below = count
    return buckets


def at_most(buckets: Buckets, share: float) -> float:
    """Return the least bound that `share` of the looks are not above; inf if there is none.

    Raises:
        ValueError: If there are no looks.
    """
    total = buckets.total()
    if not total:
        raise ValueError("the loop was not looked at")
    seen = 0
    for bound in sorted(buckets):
        seen += buckets[bound]
        if seen >= share * total:
            return bound
    raise AssertionError("a share above 1")
