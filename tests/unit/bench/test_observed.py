import asyncio

from legato.bench.observed import holdings


async def test_tasks_that_are_not_done_are_counted() -> None:
    before = holdings()["tasks"]
    done = asyncio.Event()
    waiting = [asyncio.create_task(done.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert holdings()["tasks"] == before + 3
    done.set()
    await asyncio.gather(*waiting)
    assert holdings()["tasks"] == before
