import pytest

from legato.bus.memory import MemoryBus
from legato.errors import Overloaded
from tests.contract.buses import FakeClock


async def test_a_full_registry_says_so_and_keeps_what_it_has(bus: MemoryBus) -> None:
    await bus.registry.put("default", "voice", "anna", b"1")
    with pytest.raises(Overloaded, match="the registry would hold"):
        await bus.registry.put("default", "voice", "bob", bytes(2_000))
    await bus.registry.increment("default", "quota", "n1")
    await bus.registry.increment("default", "quota", "n2")
    with pytest.raises(Overloaded):
        await bus.registry.increment("default", "quota", "n3")
    record = await bus.registry.get("default", "voice", "anna")
    assert record is not None
    assert record.value == b"1"


async def test_records_that_expire_are_swept(bus: MemoryBus, clock: FakeClock) -> None:
    await bus.registry.put("default", "ticket", "t", b"1", ttl=1)
    await bus.registry.increment("default", "quota", "n", ttl=2)
    assert bus.counts()["records"] == 2
    clock.now += 1
    bus.sweep()
    assert bus.counts()["records"] == 1
    clock.now += 1
    bus.sweep()
    assert (bus.counts()["records"], bus.counts()["records_bytes"]) == (0, 0)
