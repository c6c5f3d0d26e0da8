"""The bus as a whole; its parts have modules of their own."""

import asyncio

import pytest

from legato.bus.base import Direction
from legato.errors import BusUnavailable
from tests.contract.buses import Reader, Rig, frame, job, stream


async def test_closing_ends_every_wait_for_a_job(rig: Rig) -> None:
    waiting = [
        asyncio.create_task(rig.bus.jobs.claim(("tone",), f"w{n}", lease=rig.long, wait=60))
        for n in range(2)
    ]
    await rig.quiet()
    await rig.bus.close()
    for task in waiting:
        with pytest.raises(BusUnavailable):
            await asyncio.wait_for(task, 5)


async def test_closing_ends_every_wait_for_room(rig: Rig) -> None:
    await rig.bus.logs.create(stream(), ttl=rig.long)
    writer = rig.bus.logs.writer(stream(), Direction.UP)
    for n in range(rig.log_bytes // 4096 + 1):
        writer.append(frame(n, 4096))
    await writer.settle()
    waiting = asyncio.create_task(writer.room())
    await rig.quiet()
    await rig.bus.close()
    with pytest.raises(BusUnavailable):
        await asyncio.wait_for(waiting, 5)


async def test_closing_tells_the_readers(rig: Rig) -> None:
    await rig.bus.logs.create(stream(), ttl=rig.long)
    reader = Reader().follow(rig.bus, stream(), Direction.UP)
    await rig.quiet()
    await rig.bus.close()
    assert isinstance(await reader.end(), BusUnavailable)


async def test_a_closed_bus_says_so(rig: Rig) -> None:
    await rig.bus.logs.create(stream(), ttl=rig.long)
    writer = rig.bus.logs.writer(stream(), Direction.UP)
    await writer.settle()
    await rig.bus.close()
    await rig.bus.close()
    with pytest.raises(BusUnavailable):
        writer.append(frame(0))
    with pytest.raises(BusUnavailable):
        await rig.bus.logs.create(stream("s2"), ttl=rig.long)
    with pytest.raises(BusUnavailable):
        await rig.bus.jobs.submit(job())
    with pytest.raises(BusUnavailable):
        await rig.bus.registry.put("default", "voice", "anna", b"1")
    with pytest.raises(BusUnavailable):
        await rig.bus.blobs.get("default", "prompt")


async def test_a_bus_is_shared_if_another_process_has_one_with_the_same_streams(rig: Rig) -> None:
    await rig.bus.logs.create(stream(), ttl=rig.long)
    assert await rig.peer.logs.exists(stream())
    assert rig.bus.is_shared == (rig.bus is not rig.peer)
