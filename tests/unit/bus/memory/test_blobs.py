import pytest

from legato.bus.memory import MemoryBus
from legato.errors import Overloaded
from tests.contract.buses import FakeClock


async def test_a_full_store_says_so_and_keeps_what_it_has(bus: MemoryBus) -> None:
    await bus.blobs.put("default", "a", bytes(2_000))
    with pytest.raises(Overloaded, match="the blob store would hold"):
        await bus.blobs.put("default", "b", bytes(2_000))
    assert await bus.blobs.get("default", "a") == bytes(2_000)


async def test_blobs_that_expire_are_swept(bus: MemoryBus, clock: FakeClock) -> None:
    await bus.blobs.put("default", "a", bytes(2_000), ttl=1)
    clock.now += 1
    bus.sweep()
    assert (bus.counts()["blobs"], bus.counts()["blobs_bytes"]) == (0, 0)
