import asyncio

from legato.bus.redis.config import RedisConfig
from legato.bus.redis.keys import Keys
from legato.bus.redis.outbox import FULL_RATE, Outbox
from legato.bus.redis.pushes import Pushes
from tests.contract.buses import arrive
from tests.unit.bus.redis.fakes import FakeServers


class FakeWriter:
    """Counts how often it was asked to send."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self.sent = 0

    def send(self) -> int:
        self.sent += 1
        return self.count


def outbox(window: float = 0.005) -> Outbox:
    servers, keys = FakeServers(), Keys("legato")
    return Outbox(servers, Pushes(servers, keys), keys, RedisConfig(window=window))


async def test_a_lone_append_does_not_wait() -> None:
    box, writer = outbox(), FakeWriter()
    box.schedule(writer)
    await asyncio.sleep(0)
    assert writer.sent == 1
    assert box.is_idle


async def test_a_writer_sends_once_for_all_that_it_scheduled_in_a_turn() -> None:
    box, writer, other = outbox(), FakeWriter(), FakeWriter()
    for _ in range(3):
        box.schedule(writer)
        box.schedule(other)
    await asyncio.sleep(0)
    assert (writer.sent, other.sent) == (1, 1)


async def test_the_window_opens_with_the_rate_and_closes_again() -> None:
    box, busy, calm = outbox(window=0.02), FakeWriter(count=1000), FakeWriter(count=0)
    assert box.window == 0
    box.schedule(busy)
    await arrive(lambda: busy.sent == 1)
    assert box.window > 0
    for _ in range(20):
        box.schedule(busy)
        await arrive(lambda: box.is_idle)
    assert box.window == 0.02
    while box.window == 0.02:
        box.schedule(calm)
        await arrive(lambda: box.is_idle)


async def test_the_window_is_full_at_the_full_rate() -> None:
    assert FULL_RATE * RedisConfig().window == 15


async def test_a_closed_outbox_sends_nothing() -> None:
    box, before, after = outbox(), FakeWriter(), FakeWriter()
    box.schedule(before)
    box.close()
    box.schedule(after)
    await asyncio.sleep(0)
    assert (before.sent, after.sent) == (0, 0)
