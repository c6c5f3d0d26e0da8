from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from legato.bus.memory import Bounds, MemoryBus
from tests.contract.buses import FakeClock

SMALL = Bounds(
    log_bytes=8_000,
    logs_bytes=20_000,
    streams=3,
    tombstones=4,
    registry_bytes=2_000,
    blobs_bytes=4_000,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest_asyncio.fixture
async def bus(clock: FakeClock) -> AsyncIterator[MemoryBus]:
    """A bus with room for next to nothing, on a clock that stands still."""
    bus = MemoryBus(clock=clock, bounds=SMALL)
    yield bus
    await bus.close()
