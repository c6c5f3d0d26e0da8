"""Telling workers that something of a tenant was erased, for what they keep in memory."""

from __future__ import annotations

import hashlib
from typing import Final

from legato.bus.base import Registry
from legato.bus.records import FORGOTTEN_KIND, TENANT

TOLD_FOR: Final = 600.0
"""Seconds that the record is there; workers look every second, or keep nothing if they cannot."""


def owner_of(tenant: str) -> str:
    """Return what a tenant is called here, which does not tell its name."""
    return hashlib.sha256(tenant.encode()).hexdigest()


async def tell_forgotten(registry: Registry, tenant: str) -> None:
    """Have every worker drop what it keeps of a tenant's speech.

    Raises:
        BusUnavailable: If the bus does not answer.
        Overloaded: If it has no room for the record.
    """
    await registry.put(TENANT, FORGOTTEN_KIND, owner_of(tenant), b"", ttl=TOLD_FOR)
