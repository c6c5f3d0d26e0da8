import asyncio

import pytest

from legato.bus.base import Claim, StreamKey
from legato.bus.memory import MemoryBus
from legato.gateway.catalog import Catalog
from legato.gateway.queueing import GRACE
from legato.gateway.streams import Streams
from legato.protocol.messages import Notice, Resume, StreamStart
from tests.unit.gateway.neighbours import SharedMemoryBus
from tests.unit.gateway.stage import Gateway, Job, Line


def start(stream_id: str = "s") -> StreamStart:
    return StreamStart(stream=1, stream_id=stream_id, task="synthesize")


def resume(token: str) -> Resume:
    return Resume(stream=1, stream_id="s", token=token)


async def opened(gateway: Gateway, stream_id: str = "s") -> Line:
    line = await gateway.hello()
    await line.start(start(stream_id))
    return line


async def claimed(bus: MemoryBus) -> Claim | None:
    return await bus.jobs.claim(("tone",), "w", lease=600.0, wait=0)


async def test_jobs_of_clients_that_are_gone_stand_back() -> None:
    gateway = await Gateway().open()
    for number in range(20):
        await (await opened(gateway, f"gone-{number}")).cut()
    await asyncio.sleep(2 * GRACE)
    assert gateway.bus.counts()["jobs"] == 0
    assert len(gateway.streams) == 20, "they can be resumed"
    await opened(gateway, "here")
    claim = await claimed(gateway.bus)
    assert claim is not None
    assert claim.job.key.stream_id == "here"


async def test_a_client_that_comes_back_is_served() -> None:
    gateway = await Gateway().open()
    line = await opened(gateway)
    await line.cut()
    await asyncio.sleep(2 * GRACE)
    new = await gateway.hello()
    new.say(resume(line.token))
    await new.hear("resumed")
    claim = await claimed(gateway.bus)
    assert claim is not None
    assert (claim.job.key.stream_id, claim.job.engine) == ("s", "tone")
    assert claim.job.start == start()


async def test_a_client_that_is_back_at_once_keeps_its_place() -> None:
    gateway = await Gateway().open()
    line = await opened(gateway)
    await opened(gateway, "later")
    await line.cut()
    await asyncio.sleep(GRACE / 2)
    new = await gateway.hello()
    new.say(resume(line.token))
    await new.hear("resumed")
    await asyncio.sleep(2 * GRACE)
    claim = await claimed(gateway.bus)
    assert claim is not None
    assert claim.job.key.stream_id == "s"


async def test_what_has_only_been_told_that_it_waits_stands_back() -> None:
    gateway = await Gateway().open()
    line = await opened(gateway)
    claim = await claimed(gateway.bus)
    assert claim is not None
    Job(gateway.bus, claim.job.key).write(Notice(kind="queued"))
    await asyncio.sleep(0.1)
    await line.cut()
    await asyncio.sleep(2 * GRACE)
    assert not await gateway.bus.jobs.renew(claim, lease=1.0)


async def test_what_something_has_come_of_goes_on_without_its_client() -> None:
    gateway = await Gateway().open()
    line = await opened(gateway)
    (await gateway.work()).play(1)
    await asyncio.sleep(0.1)
    await line.cut()
    await asyncio.sleep(2 * GRACE)
    assert gateway.bus.counts()["jobs"] == 1


async def test_another_gateway_submits_what_was_taken_back() -> None:
    gateway = await Gateway().open()
    clock = asyncio.get_running_loop().time
    bus = SharedMemoryBus(clock=clock)
    for name in ("logs", "jobs", "registry", "blobs"):
        setattr(bus, name, getattr(gateway.bus, name))
    gateway.bus = bus
    gateway.streams = Streams(bus, resume_window=30.0, catalog=Catalog(bus.registry, clock))
    other = Gateway()
    other.bus = bus
    other.streams = Streams(bus, resume_window=30.0, catalog=Catalog(bus.registry, clock))
    line = await opened(gateway)
    await line.cut()
    await asyncio.sleep(2 * GRACE)
    assert await claimed(bus) is None
    new = await other.hello()
    new.say(resume(line.token))
    await new.hear("resumed")
    await asyncio.sleep(0.1)
    claim = await claimed(bus)
    assert claim is not None
    assert claim.job.key == StreamKey("default", "s")


@pytest.mark.parametrize("cuts", [2, 3])
async def test_a_link_that_comes_and_goes_leaves_one_job(cuts: int) -> None:
    gateway = await Gateway().open()
    line = await opened(gateway)
    for _ in range(cuts):
        await line.cut()
        await asyncio.sleep(2 * GRACE)
        assert gateway.bus.counts()["jobs"] == 0
        token, line = line.token, await gateway.hello()
        line.say(resume(token))
        await line.hear("resumed")
        await asyncio.sleep(0.1)
        assert gateway.bus.counts()["jobs"] == 1
