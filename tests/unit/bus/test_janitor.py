import asyncio

import pytest

from legato.bus.base import Job, StreamKey
from legato.bus.janitor import TURNS, Janitor
from legato.bus.memory import MemoryBus
from legato.bus.records import JANITOR_KIND, TENANT
from legato.gateway.config import GatewayConfig
from legato.gateway.upkeep import TTL
from legato.protocol.messages import StreamStart

KEY = StreamKey("default", "s1")
JOB = Job(key=KEY, engine="hibari", start=StreamStart(stream_id="s1", task="synthesize"))


async def cleaned(bus: MemoryBus) -> None:
    while await bus.jobs.list():  # noqa: ASYNC110  (nobody tells)
        await asyncio.sleep(0)


async def test_it_goes_round_until_it_ends_and_lets_another_begin() -> None:
    bus = MemoryBus()
    task = asyncio.create_task(Janitor(bus, "j1", every=0.001).run())
    async with asyncio.timeout(5):
        for _ in range(2):
            await bus.jobs.submit(JOB)
            await cleaned(bus)
    assert await bus.registry.get(TENANT, JANITOR_KIND, "turn") is not None
    task.cancel()
    await asyncio.wait({task})
    assert await bus.registry.get(TENANT, JANITOR_KIND, "turn") is None


async def test_a_bus_that_is_gone_is_no_end(caplog: pytest.LogCaptureFixture) -> None:
    bus = MemoryBus()
    await bus.close()
    task = asyncio.create_task(Janitor(bus, "j1", every=0.0001).run())
    async with asyncio.timeout(5):
        while caplog.text.count("nothing was cleaned up") < 2:  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_another_ones_turn_is_left_alone_at_the_end() -> None:
    bus = MemoryBus()
    assert await Janitor(bus, "j1", every=1000).sweep() == 0
    task = asyncio.create_task(Janitor(bus, "j2", every=1000).run())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    record = await bus.registry.get(TENANT, JANITOR_KIND, "turn")
    assert record is not None
    assert record.value == b"j1"


def test_what_a_dead_gateway_leaves_is_found_within_five_minutes() -> None:
    every = GatewayConfig().janitor_every
    assert TTL + TURNS * every + every <= 300
