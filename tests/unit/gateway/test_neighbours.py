"""A stream that goes on at another gateway of the same bus."""

import asyncio
from typing import Any

import pytest

from legato.errors import BusUnavailable
from legato.gateway.identity import Identity
from legato.gateway.notes import down_note
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Error,
)
from legato.telemetry.metrics import REGISTRY
from tests.unit.gateway.neighbours import (
    KEY,
    Neighbour,
    acquainted,
    exists,
    neighbours,
    resume,
    resumed,
    seqs,
)
from tests.unit.gateway.stage import FRAME, Job, echo, gone

ME = Identity("default")


async def test_a_start_that_cannot_be_noted_is_refused_and_leaves_nothing() -> None:
    here, _ = await neighbours()
    line = await here.hello()
    line.say(echo(options={"hint": "x" * 5_000}))
    assert (await line.error("message_too_large"))["stream"] == 1
    assert not line.running.done()
    assert await gone(here)


# from one to the other


async def test_a_stream_goes_on_at_the_other_gateway() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    line.send(FRAME, FRAME)
    job.play(4)
    await asyncio.sleep(0.2)
    assert [frame.seq for frame in line.frames()] == [0, 1, 2, 3]
    await line.cut()
    job.play(2, first=4)
    new = await there.hello()
    new.say(resume(line.token, received=1))
    said = await new.hear("resumed")
    assert (said["stream"], said["recovered"], said["received_seq"]) == (7, True, 1)
    new.send(FRAME, FRAME, first=2, stream=7)
    await asyncio.sleep(0.2)
    assert [(f.stream, f.seq) for f in new.frames()] == [(7, seq) for seq in (2, 3, 4, 5)]
    ups = [item for item in job.up if isinstance(item, AudioFrame)]
    assert [(f.seq, f.sample) for f in ups] == [(seq, 320 * seq) for seq in range(4)]
    assert (len(here.streams), len(there.streams)) == (0, 1)


async def test_the_connection_at_the_old_one_is_replaced() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    new = await resumed(there, line.token)
    assert (await line.error("session_replaced"))["stream"] == 1
    assert await line.ends() == (4409, "session_replaced")
    assert (len(here.streams), len(there.streams)) == (0, 1)
    new.send(FRAME, stream=7)
    while (await new.hear("ack")).get("received_seq", -1) < 0:
        pass


async def test_what_waited_at_the_old_one_is_let_go_and_not_erased() -> None:
    here, there = await neighbours(resume_window=30.0)
    line = await acquainted(here)
    await line.cut()
    await resumed(there, line.token)
    await asyncio.sleep(0.1)
    assert len(here.streams) == 0
    await asyncio.sleep(60.0)
    assert await exists(there)
    assert len(there.streams) == 1


async def test_a_client_may_come_back_to_the_first_one() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    job.play(3)
    line.send(FRAME)
    await asyncio.sleep(0.1)
    await line.cut()
    second = await resumed(there, line.token, received=0)
    second.say(Ack(stream=7, received_seq=0))
    second.send(FRAME, first=1, stream=7)
    await asyncio.sleep(0.1)
    await second.cut()
    third = await resumed(here, second.token, received=1)
    third.send(FRAME, first=2, stream=7)
    job.play(1, first=3)
    await asyncio.sleep(0.2)
    assert [frame.seq for frame in third.frames()] == [2, 3]
    assert seqs(job) == [0, 1, 2]
    assert (len(here.streams), len(there.streams)) == (1, 0)


async def test_what_the_first_one_still_holds_is_stale_when_the_client_comes_back() -> None:
    here, there = await neighbours(resume_window=30.0)
    here.view.fake.deaf = True
    line = await acquainted(here)
    job = await here.work()
    await line.cut()
    second = await resumed(there, line.token)
    second.send(FRAME, stream=7)
    await asyncio.sleep(0.1)
    assert len(here.streams) == 1  # it has not heard of it
    await second.cut()
    third = await resumed(here, line.token)
    assert len(here.streams) == 1
    third.send(FRAME, first=1, stream=7)
    await asyncio.sleep(0.2)
    assert seqs(job) == [0, 1]
    await asyncio.sleep(60.0)  # the window of the stale one is over
    assert await exists(here)


@pytest.mark.parametrize("same", [False, True])
async def test_of_two_that_take_it_at_once_one_has_it(same: bool) -> None:
    here, *others = await neighbours(2 if same else 3)
    one, other = (others * 2)[:2]
    line = await acquainted(here)
    job = await here.work()
    await line.cut()
    lines = [await one.hello(), await other.hello()]
    for new in lines:
        new.say(resume(line.token))
    await asyncio.sleep(1.0)
    assert sum(len(gateway.streams) for gateway in {id(g): g for g in (one, other)}.values()) == 1
    replaced = [new for new in lines if any("session_replaced" in str(s) for s in new.socket.sent)]
    assert len(replaced) == 1
    (winner,) = [new for new in lines if new not in replaced]
    assert (await winner.hear("resumed"))["recovered"] is True
    winner.send(FRAME, stream=7)
    await asyncio.sleep(0.1)
    assert seqs(job) == [0]


async def test_the_last_word_is_told_wherever_the_client_comes_to() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    await line.cut()
    job.write(Error(code="engine_timeout", message="too long"))
    await asyncio.sleep(0.1)
    new = await resumed(there, line.token)
    assert (await new.error("engine_timeout"))["stream"] == 7
    assert await gone(there)


def seconds(direction: str) -> float:
    return REGISTRY.get_sample_value("legato_audio_seconds_total", {"direction": direction}) or 0.0


async def test_audio_is_counted_by_the_gateway_that_carried_it() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    before = seconds("up"), seconds("down")
    line.send(*[FRAME] * 50)
    job.play(50)
    await asyncio.sleep(1.0)
    await line.cut()
    new = await resumed(there, line.token, received=49)
    new.send(*[FRAME] * 50, first=50, stream=7)
    job.play(50, first=50)
    await asyncio.sleep(1.0)
    await there.streams.close()
    after = seconds("up"), seconds("down")
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([2.0, 2.0])


# who may not


async def test_a_wrong_token_takes_nothing() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    new = await there.hello()
    new.say(resume("wrong"))
    await new.error("session_expired")
    line.send(FRAME)
    while (await line.hear("ack")).get("received_seq", -1) < 0:
        pass
    assert (len(here.streams), len(there.streams)) == (1, 0)


async def test_a_stream_that_nobody_has_is_expired() -> None:
    _, there = await neighbours()
    new = await there.hello()
    new.say(resume("any"))
    await new.error("session_expired")


async def test_a_raw_stream_stays_where_it_is() -> None:
    here, there = await neighbours()
    line = here.connect()
    await line.start(echo(framing="raw"))
    new = await there.hello()
    new.say(resume(line.token))
    await new.error("session_expired")
    assert len(here.streams) == 1


async def test_a_stream_of_another_tenant_is_not_there() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    other = Identity("other")
    with pytest.raises(Exception, match="not here"):
        await there.streams.find(other, resume(line.token), token="t")
    assert len(here.streams) == 1


async def test_who_lacks_what_was_trimmed_is_told_so_and_the_stream_is_erased() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    job.play(32, mark=True)
    await asyncio.sleep(0.5)
    line.say(Ack(stream=1, received_seq=31))
    await asyncio.sleep(2.5)
    assert down_note(await here.bus.logs.notes(KEY)).place.seq == 31
    await line.cut()
    new = await there.hello()
    new.say(resume(line.token, received=3))
    await new.error("resume_gap")
    assert await gone(there)


async def test_who_holds_what_no_log_has_is_told_so() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    await line.cut()
    new = await there.hello()
    new.say(resume(line.token, received=99))
    await new.error("resume_gap")
    assert await gone(there)


async def test_a_bus_that_does_not_answer_refuses_for_now() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    await line.cut()
    new = await there.hello()
    there.view.fake.broken = True
    new.say(resume(line.token))
    await new.error("bus_unavailable")
    assert (len(here.streams), len(there.streams)) == (1, 0)
    there.view.fake.broken = False
    new.say(resume(line.token, number=8))
    await new.hear("resumed")


async def test_a_bus_that_fails_while_the_stream_is_read_refuses_for_now() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    await line.cut()
    here.view.fake.deaf = True

    async def fails(*_: Any, **__: Any) -> Any:
        raise BusUnavailable("gone for a moment")

    fake, reads = there.view.fake, there.view.fake.read
    fake.read = fails  # type: ignore[method-assign]  # a fake of ours
    new = await there.hello()
    new.say(resume(line.token))
    await new.error("bus_unavailable")
    assert len(there.streams) == 0
    fake.read = reads  # type: ignore[method-assign]  # as it was
    await resumed(there, line.token)


# a start that nobody learnt of


async def unheard(gateway: Neighbour) -> Job:
    """A stream whose client was cut off before it learnt of it."""
    line = gateway.connect()
    line.say('{"type":"hello","version":1}', echo())
    line.send(FRAME, FRAME)
    job = await gateway.work()
    job.play(2)
    await asyncio.sleep(0.2)
    await line.cut()
    return job


async def test_a_start_that_its_client_never_learnt_of_goes_on_at_the_other() -> None:
    here, there = await neighbours()
    job = await unheard(here)
    new = await there.hello()
    new.say(echo(stream=3))
    new.send(FRAME, FRAME, FRAME, stream=3)
    assert (await new.hear("stream_started"))["received_seq"] == 1
    await asyncio.sleep(0.2)
    assert [frame.seq for frame in new.frames()] == [0, 1]
    assert seqs(job) == [0, 1, 2]
    assert (len(here.streams), len(there.streams)) == (0, 1)
    new.say(Ack(stream=3))
    await new.cut()
    await resumed(here, new.token)


async def test_another_start_of_that_id_is_refused() -> None:
    here, there = await neighbours()
    await unheard(here)
    new = await there.hello()
    new.say(echo(stream=3, language="de"))
    await new.error("stream_exists")
    assert len(here.streams) == 1


async def test_what_a_client_has_acknowledged_is_not_started_again() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    job.play(32, mark=True)
    await asyncio.sleep(0.5)
    line.say(Ack(stream=1, received_seq=31))
    await asyncio.sleep(0.5)
    new = await there.hello()
    new.say(echo(stream=3))
    await new.error("stream_exists")
    assert len(here.streams) == 1
