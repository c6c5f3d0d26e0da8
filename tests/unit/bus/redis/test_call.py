import asyncio

import pytest

from legato.bus.redis.call import Call, Outcome, into_future
from legato.bus.redis.link import Reply
from legato.errors import BusUnavailable


def test_a_call_tells_its_outcome_once() -> None:
    outcomes: list[Outcome] = []
    call = Call("k", [("GET", "k"), ("GET", "k")], outcomes.append)
    assert (call.count, call.is_done) == (2, False)
    call.finish([1, 2])
    call.finish(BusUnavailable())
    assert (outcomes, call.is_done) == ([[1, 2]], True)


async def test_a_future_takes_the_outcome() -> None:
    future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    into_future(future)([1])
    assert await future == [1]


async def test_a_future_raises_what_went_wrong() -> None:
    future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    into_future(future)(BusUnavailable("away"))
    with pytest.raises(BusUnavailable, match="away"):
        await future


async def test_an_outcome_that_nobody_waits_for_is_dropped() -> None:
    future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    future.cancel()
    into_future(future)([1])
    assert future.cancelled()
