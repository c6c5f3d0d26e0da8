import asyncio
import itertools
import time

import pytest

from legato.bus.base import Record
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.presence import TTL, Presence, process_name
from legato.bus.records import PROCESS_KIND, TENANT, ProcessRecord, decode_process


def describe(started: float, loop_lag: float) -> ProcessRecord:
    return ProcessRecord(
        role="gateway",
        name="g1",
        host="box",
        pid=7,
        version="1",
        state="ready",
        started=started,
        loop_lag=loop_lag,
        streams=0,
    )


async def written(bus: MemoryBus, after: int = 0) -> Record:
    """Wait for a record newer than a version."""
    while True:
        record = await bus.registry.get(TENANT, PROCESS_KIND, "g1")
        if record is not None and record.version > after:
            return record
        await asyncio.sleep(0)


def test_no_two_processes_have_one_name() -> None:
    assert process_name() != process_name()


async def test_a_process_is_there_from_its_start_to_its_end_and_no_longer() -> None:
    bus = MemoryBus()
    task = asyncio.create_task(Presence(bus.registry, describe, every=0.001).run())
    async with asyncio.timeout(5):
        first = await written(bus)
        await written(bus, first.version)
    record = decode_process(first.value)
    assert record.started <= record.told <= time.time()
    assert record.loop_lag == 0
    task.cancel()
    await asyncio.wait({task})
    assert await bus.registry.list(TENANT, PROCESS_KIND) == {}


async def test_a_dead_process_is_forgotten() -> None:
    now = 0.0
    bus = MemoryBus(clock=lambda: now)
    task = asyncio.create_task(Presence(bus.registry, describe, every=1000).run())
    await written(bus)
    now = 3 * 1000 - 1
    assert await bus.registry.list(TENANT, PROCESS_KIND)
    now = 3 * 1000 + TTL
    assert await bus.registry.list(TENANT, PROCESS_KIND) == {}
    task.cancel()


async def test_a_loop_that_was_held_up_is_seen() -> None:
    bus = MemoryBus()
    task = asyncio.create_task(Presence(bus.registry, describe, every=0.004).run())
    async with asyncio.timeout(5):
        version = (await written(bus)).version
        time.sleep(0.05)  # noqa: ASYNC251  (it holds the loop up)
        lag = decode_process((await written(bus, version)).value).loop_lag
    assert lag > 0.03
    task.cancel()


async def test_a_bus_without_room_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    bus = MemoryBus(bounds=Bounds(registry_bytes=0))
    often = asyncio.Event()
    times = itertools.count()

    def counted(started: float, loop_lag: float) -> ProcessRecord:
        if next(times) > 3:
            often.set()
        return describe(started, loop_lag)

    task = asyncio.create_task(Presence(bus.registry, counted, every=0.0001).run())
    await asyncio.wait_for(often.wait(), 5)
    task.cancel()
    await asyncio.wait({task})
    assert caplog.text.count("could not be announced") == 1


async def test_a_bus_that_is_gone_holds_nobody_up() -> None:
    bus = MemoryBus()
    task = asyncio.create_task(Presence(bus.registry, describe, every=1000).run())
    await written(bus)
    await bus.close()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
