"""The bus that the settings name."""

from __future__ import annotations

from typing import Final

from legato.bus.base import Bus
from legato.bus.memory import MemoryBus
from legato.cli.extras import need
from legato.settings import BadSettings

MEMORY: Final = "memory:"
REDIS_SCHEMES: Final = ("redis://", "rediss://", "unix://")


def is_shared(url: str) -> bool:
    """Whether several processes can meet on the bus.

    Raises:
        BadSettings: If there is no such bus.
    """
    if url == MEMORY:
        return False
    if url.startswith(REDIS_SCHEMES):
        need("redis")
        return True
    raise BadSettings(
        f"bus {url!r} is not known; there are {MEMORY} and {', '.join(REDIS_SCHEMES)}"
    )


def need_shared(url: str, what: str) -> None:
    """Check that several processes can meet on the bus.

    Args:
        url: Of the bus.
        what: Who needs it, for the sentence.

    Raises:
        BadSettings: If they cannot, or if there is no such bus.
    """
    if not is_shared(url):
        raise BadSettings(
            f"{what} a bus that they share; {MEMORY} is not shared: name another with --bus, such"
            " as redis://127.0.0.1:6379/0"
        )


async def open_bus(url: str) -> Bus:
    """Connect to the bus.

    Raises:
        BadSettings: If there is no such bus.
        BusUnavailable: If it does not answer, or cannot be relied on.
    """
    if not is_shared(url):
        return MemoryBus()
    from legato.bus.redis import RedisBus, RedisConfig  # needs the redis extra

    return await RedisBus.open(RedisConfig(url=url))
