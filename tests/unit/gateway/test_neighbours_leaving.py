"""Streams of a gateway that drains or ends, or whose client does not come back in time."""

import asyncio

import pytest

from legato.errors import Draining
from legato.gateway.identity import Identity
from legato.gateway.streams import LEEWAY
from tests.unit.gateway.neighbours import (
    acquainted,
    exists,
    neighbours,
    resume,
    resumed,
)
from tests.unit.gateway.stage import echo, gone

ME = Identity("default")


# leaving, draining, expiring


async def test_a_draining_gateway_leaves_its_streams_behind() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    here.streams.draining = True
    await line.cut()
    await asyncio.sleep(0.1)
    assert len(here.streams) == 0
    assert await exists(here)
    await resumed(there, line.token)
    with pytest.raises(Draining):
        await here.streams.find(ME, resume(line.token), token="t")


@pytest.mark.parametrize("connected", [True, False])
async def test_a_gateway_that_ends_leaves_its_streams_behind(connected: bool) -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    if not connected:
        await line.cut()
    await here.streams.close()
    assert len(here.streams) == 0
    await resumed(there, line.token)


async def test_a_gateway_that_ends_erases_what_cannot_be_resumed() -> None:
    here, _ = await neighbours()
    line = here.connect()
    await line.start(echo(framing="raw"))
    await here.streams.close()
    assert not await exists(here)


async def test_what_was_left_behind_ends_when_nobody_comes() -> None:
    here, there = await neighbours(resume_window=30.0)
    await acquainted(here)
    await here.streams.close()
    await asyncio.sleep(30.0 + LEEWAY - 1.0)
    assert await exists(there)
    await asyncio.sleep(2.0)
    assert not await exists(there)


async def test_the_window_s_end_erases_what_is_ours() -> None:
    here, _ = await neighbours(resume_window=30.0)
    line = await acquainted(here)
    await line.cut()
    await asyncio.sleep(29.0)
    assert await exists(here)
    await asyncio.sleep(1.0)
    assert await gone(here)


async def test_the_window_s_end_lets_go_of_what_another_has() -> None:
    here, there = await neighbours(resume_window=30.0)
    here.view.fake.deaf = True
    line = await acquainted(here)
    await line.cut()
    await asyncio.sleep(20.0)
    await resumed(there, line.token)
    assert len(here.streams) == 1
    await asyncio.sleep(11.0)
    assert len(here.streams) == 0
    assert len(there.streams) == 1
    assert await exists(there)


async def test_the_window_s_end_lets_go_when_the_bus_cannot_tell_whose_it_is() -> None:
    here, _ = await neighbours(resume_window=30.0)
    line = await acquainted(here)
    await line.cut()
    here.view.fake.broken = True
    await asyncio.sleep(31.0)
    assert len(here.streams) == 0
    assert await exists(here)


async def test_who_comes_back_while_the_window_ends_is_served() -> None:
    here, _ = await neighbours(resume_window=30.0)
    line = await acquainted(here)
    await line.cut()
    new = await here.hello()
    here.view.fake.delay = 0.2
    await asyncio.sleep(29.7)
    new.say(resume(line.token))
    await new.hear("resumed")
    await asyncio.sleep(5.0)
    assert len(here.streams) == 1
    assert await exists(here)
