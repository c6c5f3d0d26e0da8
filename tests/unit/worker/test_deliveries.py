import asyncio

from legato.bus.base import Claim, Committed, Job, StreamKey
from legato.bus.memory import MemoryBus
from legato.protocol.messages import StreamStart
from legato.worker.deliveries import count_deliveries
from legato.worker.takeover import Standing

KEY = StreamKey("default", "s")


def claim(deliveries: int) -> Claim:
    job = Job(key=KEY, engine="echo", start=StreamStart(stream_id="s", task="echo", stream=1))
    return Claim(job=job, fence=deliveries, deliveries=deliveries, holder="w")


async def bus() -> MemoryBus:
    made = MemoryBus(clock=asyncio.get_running_loop().time)
    await made.logs.create(KEY, ttl=60.0)
    return made


async def test_a_first_delivery_leaves_no_word() -> None:
    logs = (await bus()).logs
    assert await count_deliveries(logs, claim(1), Standing()) == 1
    assert not await logs.notes(KEY)


async def test_deliveries_of_which_nothing_comes_are_counted() -> None:
    logs = (await bus()).logs
    counts = [await count_deliveries(logs, claim(n), Standing()) for n in (1, 2, 3, 4)]
    assert counts == [1, 2, 3, 4]


async def test_a_stream_that_goes_on_each_time_is_never_given_up() -> None:
    logs = (await bus()).logs
    counts = [
        await count_deliveries(logs, claim(n), Standing(committed=Committed(n, upto=320 * n)))
        for n in (2, 3, 4, 5)
    ]
    assert counts == [2, 1, 1, 1]


async def test_audio_that_came_counts_as_going_on() -> None:
    logs = (await bus()).logs
    await count_deliveries(logs, claim(2), Standing(sample=320))
    assert await count_deliveries(logs, claim(3), Standing(sample=640)) == 1
    assert await count_deliveries(logs, claim(4), Standing(sample=640)) == 2
