import asyncio
from random import Random

import pytest

from legato.flow.link import PROFILES, SEGMENT_BYTES
from legato.gateway.impaired import HELD_BYTES, WHOLE, Impaired
from legato.gateway.socket import CLOSE_LINGER, WRITE_HIGH_BYTES
from tests.unit.gateway.test_socket import Accepted
from tests.unit.gateway.transport import CLOSE, FakeTransport, frame


async def impaired() -> tuple[Accepted, Impaired]:
    accepted = await Accepted().attached()
    return accepted, Impaired(accepted.socket)


def told(accepted: Accepted) -> list[str | bytes]:
    """What the sink has got, besides flushes."""
    return [item for item in accepted.sink.told if item != "(flush)"]


def reads(accepted: Accepted) -> bool:
    return accepted.transport.reading


def is_writable(accepted: Accepted) -> bool:
    return accepted.socket.is_writable


def is_closed(accepted: Accepted) -> bool:
    return accepted.transport.closing


def is_aside(accepted: Accepted) -> bool:
    return accepted.socket.transport is accepted.transport


async def test_a_frozen_connection_is_silent_both_ways_and_then_gives_everything() -> None:
    accepted, line = await impaired()
    line.freeze(3.0)
    accepted.transport.protocol.data_received(frame(b"up"))  # type: ignore[attr-defined]  # uvicorn's
    accepted.socket.write(["down", "and more"])
    await asyncio.sleep(2.9)
    assert (told(accepted), accepted.transport.take()) == ([], b"")
    await asyncio.sleep(0.2)
    assert told(accepted) == [b"up"]
    written = accepted.transport.take()
    assert b"down" in written
    assert written.endswith(b"and more")


async def test_when_nothing_is_left_to_hold_back_it_stands_aside() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    assert not is_aside(accepted)
    await asyncio.sleep(1.1)
    assert is_aside(accepted)
    assert accepted.transport.protocol is accepted.socket
    accepted.socket.write(["down"])
    assert accepted.transport.take().endswith(b"down")


async def test_another_freeze_takes_the_place_of_the_first() -> None:
    accepted, line = await impaired()
    line.freeze(5.0)
    line.freeze(1.0)
    line.data_received(frame(b"up"))
    await asyncio.sleep(1.1)
    assert told(accepted) == [b"up"]


async def test_a_network_delays_by_its_profile_and_keeps_the_order() -> None:
    accepted, line = await impaired()
    line.degrade("very_bad", Random(1))
    assert line.network == "very_bad"
    sent = [bytes([number]) * 9 for number in range(20)]
    for payload in sent:
        line.data_received(frame(payload))
        accepted.socket.write([payload])
    await asyncio.sleep(PROFILES["very_bad"].up.least_delay - 0.001)
    assert (told(accepted), accepted.transport.take()) == ([], b"")
    await asyncio.sleep(60.0)
    assert told(accepted) == sent
    assert accepted.transport.take() == b"".join(b"\x82\x09" + payload for payload in sent)
    line.mend()
    assert line.network == WHOLE
    assert is_aside(accepted)


async def test_mending_lets_what_is_under_way_arrive_first() -> None:
    accepted, line = await impaired()
    line.degrade("lossy", Random(1))
    line.data_received(frame(b"late"))
    line.mend()
    line.data_received(frame(b"later"))
    assert not is_aside(accepted)
    await asyncio.sleep(10.0)
    assert told(accepted) == [b"late", b"later"]
    assert is_aside(accepted)


async def test_who_sends_too_much_is_read_no_more_until_some_has_arrived() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    payload = frame(bytes(HELD_BYTES // 2))
    line.data_received(payload)
    assert reads(accepted)
    line.data_received(payload)
    line.data_received(b"")
    assert not reads(accepted)
    await asyncio.sleep(1.1)
    assert reads(accepted)
    assert len(told(accepted)) == 2


async def test_who_writes_too_much_has_to_wait() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    accepted.socket.write([bytes(HELD_BYTES)])
    assert is_writable(accepted)
    assert accepted.socket.unsent_bytes < 20
    accepted.socket.write([bytes(WRITE_HIGH_BYTES)])
    assert not is_writable(accepted)
    assert accepted.socket.unsent_bytes > WRITE_HIGH_BYTES
    await asyncio.sleep(1.1)
    assert is_writable(accepted)
    assert len(accepted.transport.take()) > HELD_BYTES + WRITE_HIGH_BYTES


async def test_a_transport_that_is_full_is_told_on() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    line.pause_writing()
    assert not is_writable(accepted)
    line.resume_writing()
    assert is_writable(accepted)


async def test_a_reader_that_waits_gets_nothing_until_it_goes_on() -> None:
    accepted, line = await impaired()
    accepted.socket.pause()
    assert not line.is_reading()
    line.data_received(frame(b"up"))
    await asyncio.sleep(1.0)
    assert told(accepted) == []
    assert not is_aside(accepted)
    accepted.socket.resume()
    assert line.is_reading()
    await asyncio.sleep(0.1)
    assert told(accepted) == [b"up"]
    assert is_aside(accepted)


async def test_it_may_come_while_the_reader_waits() -> None:
    accepted = await Accepted().attached()
    accepted.socket.pause()
    line = Impaired(accepted.socket)
    assert reads(accepted)  # within its own bound
    line.freeze(0.5)
    accepted.socket.resume()
    await asyncio.sleep(1.0)
    assert reads(accepted)
    assert is_aside(accepted)


async def test_a_lost_connection_is_told_behind_what_came_before() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    accepted.socket.pause()
    line.data_received(frame(b"up"))
    line.connection_lost(ConnectionResetError())
    accepted.socket.pause()
    assert told(accepted) == []
    await asyncio.sleep(1.1)
    assert told(accepted)[0] == b"up"
    assert told(accepted)[-1] == "(lost)"


async def test_an_abort_does_not_wait() -> None:
    accepted, line = await impaired()
    line.freeze(9.0)
    accepted.socket.write(["never"])
    line.abort()
    assert accepted.transport.aborted
    line.connection_lost(None)
    assert told(accepted) == ["(lost)"]
    line.write(b"nobody")
    await asyncio.sleep(10.0)
    assert accepted.transport.take() == b""


async def test_a_close_follows_what_was_written() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    accepted.socket.write(["last"])
    line.close()
    line.close()
    assert line.is_closing()
    assert not is_closed(accepted)
    line.data_received(frame(b"too late"))
    await asyncio.sleep(1.1)
    assert b"last" in accepted.transport.take()
    assert is_closed(accepted)
    assert told(accepted) == []


async def test_a_peer_that_does_not_answer_a_close_is_dropped_all_the_same() -> None:
    accepted, line = await impaired()
    line.freeze(10.0)
    accepted.socket.close(1000)
    await asyncio.sleep(CLOSE_LINGER + 0.1)
    assert accepted.transport.aborted


async def test_the_end_of_what_is_sent_comes_in_order_too() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    line.write(b"x")
    line.write_eof()
    assert line.can_write_eof()
    line.data_received(frame(b"up"))
    assert line.eof_received()
    await asyncio.sleep(1.2)
    assert accepted.transport.eof_written
    assert told(accepted)[0] == b"up"
    assert is_closed(accepted)


async def test_the_end_of_tls_is_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted, line = await impaired()
    monkeypatch.setattr(accepted.transport, "get_extra_info", lambda name, default=None: name)
    line.freeze(1.0)
    assert not line.eof_received()
    await asyncio.sleep(1.2)
    assert not is_closed(accepted)


async def test_a_transport_that_closes_meanwhile_is_written_to_no_more() -> None:
    accepted, line = await impaired()
    line.freeze(1.0)
    line.write(b"x")
    line.write_eof()
    accepted.transport.close()
    await asyncio.sleep(1.1)
    assert (accepted.transport.take(), accepted.transport.eof_written) == (b"", False)


class Unlucky(Random):
    """Loses everything."""

    def random(self) -> float:
        return 0.0


async def test_a_connection_over_which_nothing_passes_is_given_up() -> None:
    accepted, line = await impaired()
    line.degrade("lossy", Unlucky())
    line.write(b"x")
    assert accepted.transport.aborted


async def test_it_stands_for_its_transport_in_all_else() -> None:
    accepted, line = await impaired()
    line.writelines([b"a", b"b"])
    line.write(b"")
    line.set_write_buffer_limits(high=5)
    assert accepted.transport.high == 5
    assert line.get_extra_info("peername", "x") == "x"
    assert line.get_protocol() is accepted.socket
    with pytest.raises(NotImplementedError):
        line.set_protocol(accepted.socket)
    await asyncio.sleep(0.1)
    assert accepted.transport.take() == b"ab"


async def test_what_is_large_travels_in_segments() -> None:
    accepted, line = await impaired()
    line.degrade("3g", Random(1))
    line.data_received(frame(bytes(10 * SEGMENT_BYTES)))
    assert line.under_way == (len(frame(bytes(10 * SEGMENT_BYTES))), 0)
    await asyncio.sleep(60.0)
    assert told(accepted) == [bytes(10 * SEGMENT_BYTES)]


async def test_a_peers_close_is_heard_through_it() -> None:
    accepted, line = await impaired()
    line.freeze(0.5)
    line.data_received(frame(b"\x03\xe8", CLOSE))
    await asyncio.sleep(0.6)
    assert "(lost)" in told(accepted)
    await asyncio.sleep(0.1)
    assert isinstance(accepted.transport, FakeTransport)
    assert is_closed(accepted)


async def test_who_aborts_what_is_lost_already_is_told_of_the_loss_once() -> None:
    accepted, line = await impaired()
    line.freeze(5.0)
    line.connection_lost(None)
    assert told(accepted) == []  # it is told in its turn
    accepted.socket.transport.abort()
    accepted.socket.transport.abort()
    await asyncio.sleep(6.0)
    assert told(accepted) == ["(lost)"]
