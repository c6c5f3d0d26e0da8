import asyncio

from legato.bus.redis.gauge import Gauge


async def test_a_change_wakes_all_who_wait() -> None:
    gauge = Gauge()
    waiting = [asyncio.create_task(gauge.change()) for _ in range(3)]
    await asyncio.sleep(0)
    gauge.changed()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_waiting_for_a_change_ends_after_its_time() -> None:
    await asyncio.wait_for(Gauge().change(0.001), 5)


async def test_who_stops_waiting_is_forgotten() -> None:
    gauge = Gauge()
    waiting = asyncio.create_task(gauge.change())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    gauge.changed()
    assert waiting.cancelled()


def test_the_size_counts_what_is_on_its_way() -> None:
    gauge = Gauge()
    gauge.stored, gauge.trimmed, gauge.pending = 9, 4, 7
    assert gauge.size_bytes == 12
