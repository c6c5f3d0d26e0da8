"""A stream that its client begins anew, because a server or the bus has lost what it had."""

import asyncio

import pytest

from legato.bus.base import Direction
from legato.errors import EpochChanged
from legato.gateway.streams import epoch_of
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Continuation, Resume
from tests.unit.gateway.neighbours import KEY, Neighbour, acquainted, exists, neighbours
from tests.unit.gateway.stage import FRAME, Line, echo

SAMPLE = 5 * 320


def continues(token: str, epoch: int = 1) -> Continuation:
    return Continuation(
        epoch=epoch, token=token, speaking=True, sample=SAMPLE, received_upto=SAMPLE
    )


async def begun_anew(gateway: Neighbour, token: str, epoch: int = 1) -> Line:
    """A connection on which the stream began anew."""
    line = await gateway.hello()
    said = await line.start(echo(continues=continues(token, epoch)))
    assert (said["epoch"], said.get("received_seq", -1)) == (epoch, -1)
    return line


async def see_it_work(gateway: Neighbour, line: Line) -> None:
    """See that it is worked on from where its client goes on, and from nothing else."""
    assert await gateway.bus.logs.read(KEY, Direction.DOWN) == []
    job = await gateway.work()
    line.send(FRAME, FRAME)
    await asyncio.sleep(0.2)
    ups = [item for item in job.up if isinstance(item, AudioFrame)]
    assert [(frame.seq, frame.sample) for frame in ups] == [(0, SAMPLE), (1, SAMPLE + 320)]
    job.write(AudioFrame(FRAME, 0, sample=SAMPLE))
    await asyncio.sleep(0.2)
    assert [(frame.seq, frame.sample) for frame in line.frames()] == [(0, SAMPLE)]


async def lose_the_tail(gateway: Neighbour) -> Line:
    """A stream whose log goes on with what does not follow, as its client is told."""
    line = await acquainted(gateway)
    job = await gateway.work()
    job.play(3)
    await asyncio.sleep(0.2)
    job.write(AudioFrame(FRAME, 1, sample=320))
    assert (await line.error("epoch_changed"))["stream"] == 1
    return line


async def test_where_the_bus_knows_nothing_it_just_begins() -> None:
    here, _ = await neighbours()
    line = await begun_anew(here, "any token")
    await see_it_work(here, line)


@pytest.mark.parametrize("at", [0, 1])
async def test_what_the_bus_still_has_is_replaced(at: int) -> None:
    gateways = await neighbours()
    old = await lose_the_tail(gateways[0])
    assert await exists(gateways[0])
    line = await begun_anew(gateways[at], old.token)
    await see_it_work(gateways[at], line)


async def test_an_epoch_follows_an_epoch() -> None:
    here, there = await neighbours()
    first = await begun_anew(here, "")
    second = await begun_anew(there, first.token, 2)
    await see_it_work(there, second)


async def test_at_the_gateway_that_has_it_the_old_one_is_let_go() -> None:
    here, there = await neighbours()
    old = await acquainted(here)
    line = await begun_anew(there, old.token)
    await asyncio.sleep(1.0)
    assert (len(here.streams), len(there.streams)) == (0, 1)
    await old.cut()
    await asyncio.sleep(100.0)  # whatever the old one still meant to erase
    assert await exists(there)
    await see_it_work(there, line)


@pytest.mark.parametrize(("token", "epoch"), [("wrong", 2), ("right", 1)])
async def test_without_its_token_or_a_higher_epoch_nothing_is_replaced(
    token: str, epoch: int
) -> None:
    here, there = await neighbours()
    line = await begun_anew(here, "")
    other = await there.hello()
    where = continues(line.token if token == "right" else token, epoch)
    other.say(echo(continues=where))
    assert (await other.error("stream_exists"))["stream"] == 1
    await see_it_work(here, line)


async def test_what_was_deleted_does_not_begin_anew() -> None:
    here, _ = await neighbours()
    old = await acquainted(here)
    await here.bus.logs.delete(KEY)
    line = await here.hello()
    line.say(echo(continues=continues(old.token)))
    await line.error("stream_exists")
    assert not await exists(here)


async def test_a_loss_that_is_found_late_erases_nothing_of_the_next_epoch() -> None:
    here, there = await neighbours()
    old = await lose_the_tail(here)
    line = await begun_anew(there, old.token)
    await old.cut()
    await asyncio.sleep(100.0)
    assert (len(here.streams), await exists(there)) == (0, True)
    await see_it_work(there, line)


@pytest.mark.parametrize("trimmed", [False, True])
async def test_who_is_in_the_next_epoch_does_not_resume_the_old_one(trimmed: bool) -> None:
    here, there = await neighbours()
    old = await acquainted(here)
    job = await here.work()
    job.play(3, mark=True)
    await asyncio.sleep(0.2)
    await old.cut()
    if trimmed:
        await here.bus.logs.trim(KEY, Direction.DOWN, upto=2)
    new = await there.hello()
    new.say(Resume(stream=7, stream_id="s", token=old.token, epoch=1))
    assert (await new.error("epoch_changed"))["stream"] == 7
    assert await exists(there)
    await see_it_work(there, await begun_anew(there, old.token))


async def test_in_the_next_epoch_it_is_resumed_at_any_gateway() -> None:
    here, there = await neighbours()
    line = await begun_anew(here, "")
    job = await here.work()
    line.send(FRAME)
    await asyncio.sleep(0.2)
    job.write(AudioFrame(FRAME, 0, sample=SAMPLE))
    await line.cut()
    new = await there.hello()
    new.say(Resume(stream=7, stream_id="s", token=line.token, epoch=1))
    said = await new.hear("resumed")
    assert (said["epoch"], said["received_seq"]) == (1, 0)
    new.send(FRAME, first=1, stream=7)
    await asyncio.sleep(0.2)
    assert [(frame.seq, frame.sample) for frame in new.frames()] == [(0, SAMPLE)]
    ups = [item for item in job.up if isinstance(item, AudioFrame)]
    assert [frame.sample for frame in ups] == [SAMPLE, SAMPLE + 320]


def test_a_stream_begins_with_epoch_0() -> None:
    assert (epoch_of(echo()), epoch_of(echo(continues=continues("", 3)))) == (0, 3)
    assert EpochChanged.code == "epoch_changed"
