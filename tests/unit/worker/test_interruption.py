import asyncio

import pytest

from legato.worker.interruption import Interruptible


async def test_work_is_done_to_its_end() -> None:
    async def work() -> int:
        return 7

    interruptible = Interruptible()
    task = await interruptible.run(work())
    assert task.result() == 7
    assert not interruptible.runs
    interruptible.cut()


async def test_work_that_is_cut_is_cancelled() -> None:
    interruptible = Interruptible()
    running = asyncio.create_task(interruptible.run(asyncio.sleep(600)))
    await asyncio.sleep(0)
    assert interruptible.runs
    interruptible.cut()
    assert (await asyncio.wait_for(running, 5)).cancelled()


async def test_what_work_raises_is_for_the_caller_to_look_at() -> None:
    async def work() -> None:
        raise ValueError("x")

    task = await Interruptible().run(work())
    with pytest.raises(ValueError, match="x"):
        task.result()


async def test_a_result_that_nobody_wants_any_more_is_undone() -> None:
    undone: list[int] = []

    async def work() -> int:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return 7
        return 0

    running = asyncio.create_task(Interruptible().run(work(), undo=undone.append))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        _ = await running
    assert undone == [7]
