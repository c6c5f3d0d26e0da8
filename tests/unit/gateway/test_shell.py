import asyncio
from collections.abc import Mapping

import pytest

from legato.bus.base import StreamKey
from legato.gateway.identity import Identity
from tests.unit.gateway.stage import Gateway, Job, echo, gone
from tests.unit.gateway.virtual import VirtualLoop


async def test_who_does_not_say_hello_in_5_s_is_closed() -> None:
    loop = asyncio.get_running_loop()
    line = (await Gateway().open()).connect()
    began = loop.time()
    assert await line.ends() == (4410, "idle_timeout")
    assert loop.time() - began == pytest.approx(5.0, abs=0.1)


async def test_who_is_silent_for_too_long_is_closed_and_its_streams_wait() -> None:
    gateway = await Gateway(idle_timeout=90.0).open()
    line = await gateway.hello()
    await line.start(echo())
    assert await line.ends() == (4410, "idle_timeout")
    assert len(gateway.streams) == 1


async def test_who_does_not_read_is_closed_after_the_slow_timeout() -> None:
    loop = asyncio.get_running_loop()
    gateway = await Gateway(slow_timeout=15.0).open()
    line = await gateway.hello()
    await line.start(echo())
    job = await gateway.work()
    line.socket.is_writable = False
    began = loop.time()
    job.play(100)
    assert await line.ends() == (4408, "slow_consumer")
    assert loop.time() - began == pytest.approx(15.0, abs=0.1)
    await line.error("slow_consumer")
    assert len(gateway.streams) == 1


async def test_a_blocked_connection_does_not_poll() -> None:
    gateway = await Gateway(slow_timeout=15.0).open()
    line = await gateway.hello()
    await line.start(echo())
    job = Job(gateway.bus, StreamKey("default", "s"))  # a lease would have the bus look at it
    line.socket.is_writable = False
    job.play(100)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    before = loop.jumps
    await line.ends()
    assert loop.jumps - before < 10


async def test_who_reads_again_in_time_gets_the_rest() -> None:
    gateway = await Gateway(slow_timeout=15.0).open()
    line = await gateway.hello()
    await line.start(echo())
    job = await gateway.work()
    await asyncio.sleep(0.2)
    line.socket.is_writable = False
    job.play(10)
    await asyncio.sleep(14.0)
    assert line.frames() == []
    line.socket.is_writable = True
    line.connection.flush()
    await asyncio.sleep(14.0)
    assert len(line.frames()) == 10
    assert not line.running.done()


async def test_no_more_is_written_than_the_socket_may_hold_unsent() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.say('{"type":"flow_control","rate":1000}')
    job = await gateway.work()
    await asyncio.sleep(0.2)
    line.socket.unsent_bytes = 60_000
    job.play(50)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 1 <= len(line.frames()) <= 10


# the end of a connection


async def test_five_broken_messages_close_it() -> None:
    line = await (await Gateway().open()).hello()
    for _ in range(5):
        line.say("{")
    assert await line.ends() == (4400, "malformed_message")


async def test_a_drain_is_told_and_a_leave_is_1012() -> None:
    line = await (await Gateway().open()).hello()
    line.connection.drain(10.0)
    assert (await line.hear("draining"))["deadline"] == 10.0
    line.connection.leave()
    assert await line.ends() == (1012, "draining")


async def test_a_second_end_changes_nothing() -> None:
    line = await (await Gateway().open()).hello()
    line.connection.leave()
    line.connection.leave()
    line.connection.lost()
    line.connection.lost()
    line.connection.flush()
    assert await line.ends() == (1012, "draining")
    assert line.connection.close_code == 1012


@pytest.mark.parametrize(("by_peer", "code"), [(True, 1000), (False, 1006)])
async def test_how_it_was_lost_is_counted(by_peer: bool, code: int) -> None:
    line = await (await Gateway().open()).hello()
    line.socket.closed_by_peer = by_peer
    await line.cut()
    assert line.connection.close_code == code


async def test_a_cancelled_connection_parks_its_streams() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await line.running
    await asyncio.sleep(31.0)
    assert await gone(gateway)


class BrokenIdentity(Exception):
    pass


async def test_a_bug_ends_its_connection_with_1011_and_no_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(headers: Mapping[str, str], auth: str | None) -> Identity:
        raise BrokenIdentity("secret detail")

    line = (await Gateway(identify=broken).open()).connect()
    line.say('{"type":"hello","version":1}')
    assert await line.ends() == (1011, "internal")
    assert "secret" not in (await line.error("internal"))["message"]
    assert "connection failed" in caplog.text
