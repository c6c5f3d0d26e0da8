import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from legato.client.pump import AHEAD, Pump


async def test_items_come_in_order_from_another_thread() -> None:
    def items() -> Iterator[int]:
        yield from range(100)
        yield threading.get_ident()

    async with aclosing(Pump(items())) as pump:
        *numbers, ident = [item async for item in pump]

    assert numbers == list(range(100))
    assert ident != threading.get_ident()
    with pytest.raises(StopAsyncIteration):
        await anext(pump)


async def test_a_blocked_iterator_blocks_nobody_else() -> None:
    go_on = threading.Event()

    def items() -> Iterator[str]:
        assert go_on.wait(10)
        yield "late"

    pump = Pump(items())
    waiting = asyncio.ensure_future(anext(pump))
    await asyncio.sleep(0)
    assert not waiting.done()

    go_on.set()

    assert await waiting == "late"


async def test_what_the_iterator_raises_comes_after_what_it_gave() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    pump = Pump(items())

    assert await anext(pump) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        await anext(pump)


async def test_what_cannot_be_iterated_is_the_readers_error() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        await anext(Pump(5))  # type: ignore[arg-type]  # the mistake that is tested


async def test_the_thread_is_ahead_by_a_bounded_number() -> None:
    given = 0

    def items() -> Iterator[int]:
        nonlocal given
        while True:
            given += 1
            yield given

    pump = Pump(items())
    for expected in range(1, 50):
        assert await anext(pump) == expected
        assert given <= expected + AHEAD
    await pump.aclose()


async def test_closing_ends_the_thread_and_closes_the_generator() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    pump = Pump(items())
    await anext(pump)

    await pump.aclose()

    assert await asyncio.to_thread(closed.wait, 10)
    with pytest.raises(StopAsyncIteration):
        await anext(pump)


def test_a_loop_that_is_gone_does_not_trouble_the_thread() -> None:
    go_on, over = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        go_on.wait(10)
        yield 2
        over.set()

    async def leave() -> None:
        await anext(Pump(items()))

    asyncio.run(leave())
    go_on.set()

    assert over.wait(10)
