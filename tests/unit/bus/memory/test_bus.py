import asyncio

from legato.bus.base import Bus, Direction
from legato.bus.memory import MemoryBus
from legato.errors import SessionExpired
from tests.contract.buses import FakeClock, Reader, arrive, frame, job, stream


def as_port(bus: MemoryBus) -> Bus:
    return bus


async def test_it_fills_the_port() -> None:
    assert as_port(MemoryBus()).jobs is not None


async def test_whatever_it_holds_it_has_no_task(bus: MemoryBus) -> None:
    before = asyncio.all_tasks()
    for n in range(3):
        await bus.logs.create(stream(f"s{n}"), ttl=60)
        bus.logs.writer(stream(f"s{n}"), Direction.UP).append(frame(0))
        Reader().follow(bus, stream(f"s{n}"), Direction.UP)
        await bus.jobs.submit(job(f"s{n}"))
    assert asyncio.all_tasks() == before


async def test_deadlines_come_without_anybody_asking() -> None:
    bus = MemoryBus()
    await bus.logs.create(stream(), ttl=0.01)
    await bus.registry.put("default", "ticket", "t", b"1", ttl=0.02)
    await bus.blobs.put("default", "prompt", b"1", ttl=0.03)
    reader = Reader().follow(bus, stream(), Direction.UP)
    assert isinstance(await reader.end(), SessionExpired)
    await arrive(lambda: bus.counts()["records"] == bus.counts()["blobs"] == 0)
    await bus.close()


async def test_it_counts_what_it_holds(bus: MemoryBus, clock: FakeClock) -> None:
    assert set(bus.counts().values()) == {0}
    await bus.logs.create(stream("a"), ttl=60)
    await bus.logs.create(stream("b"), ttl=60)
    await bus.logs.delete(stream("b"))
    await bus.jobs.submit(job("a"))
    await bus.registry.put("default", "voice", "anna", b"1")
    counts = bus.counts()
    kinds = ("streams", "tombstones", "jobs", "records", "blobs")
    assert [counts[kind] for kind in kinds] == [1, 1, 1, 1, 0]
    clock.now += 300
    bus.sweep()
    assert [bus.counts()[kind] for kind in kinds] == [0, 0, 1, 1, 0]
