import asyncio
from weakref import ref

from legato.bus.base import Direction
from legato.bus.memory.log import Log, Tally, gone
from legato.bus.memory.writer import Writer
from legato.errors import LegatoError
from tests.contract.buses import frame, stream


def log() -> Log:
    return Log(stream(), Direction.UP, 1 << 20, Tally())


async def test_a_writer_that_tells_costs_one_callback_for_each_turn() -> None:
    told: list[int] = []
    writer = Writer(log(), 0, stored=told.append)
    for n in range(3):
        writer.append(frame(n))
    await asyncio.sleep(0)
    writer.append(frame(3))
    await asyncio.sleep(0)
    assert told == [3, 4]


async def test_readers_are_served_before_the_writer_is_told() -> None:
    order: list[str] = []
    one = log()
    one.follow(lambda _: order.append("read"), None, 0)
    writer = Writer(one, 0, stored=lambda _: order.append("told"))
    await asyncio.sleep(0)
    writer.append(frame(0))
    await asyncio.sleep(0)
    assert order == ["read", "told"]


async def test_a_writer_that_nobody_holds_is_not_kept_by_its_log() -> None:
    reasons: list[LegatoError] = []
    one = log()
    writer = Writer(one, 0, failed=reasons.append)
    place = ref(writer)
    del writer
    assert place() is None
    one.end(gone(stream()))
    await asyncio.sleep(0)
    assert reasons == []
