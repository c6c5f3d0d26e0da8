import asyncio
import struct
from itertools import pairwise

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from legato.gateway.server import GRACE
from legato.gateway.socket import (
    BROKEN_LINGER,
    CLOSE_LINGER,
    SLICE_BYTES,
    TURN_MESSAGES,
    WRITE_HIGH_BYTES,
    SpeechSocket,
)
from tests.unit.gateway.transport import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    FakeTransport,
    close_code,
    config,
    frame,
    handshake,
    state,
)
from tests.unit.gateway.virtual import VirtualLoop


class Listening:
    """A sink that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str | bytes] = []

    def receive(self, data: str | bytes) -> None:
        self.told.append(data)

    def flush(self) -> None:
        self.told.append("(flush)")

    def lost(self) -> None:
        self.told.append("(lost)")


class Slow(Listening):
    """A sink that takes a millisecond for each message."""

    def receive(self, data: str | bytes) -> None:
        super().receive(data)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.now += 0.001


class Accepted:
    """A socket behind an application that accepts it and waits."""

    def __init__(self, *, eof: bool = True, sink: Listening | None = None) -> None:
        self.transport = FakeTransport(eof=eof)
        self.over = asyncio.Event()
        self.socket = SpeechSocket(config(self._app), state(), {})
        self.socket.connection_made(self.transport)
        self.sink = sink or Listening()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.found = scope["state"]["socket"]
        await receive()
        await send({"type": "websocket.accept", "subprotocol": None})
        await self.over.wait()

    async def open(self) -> "Accepted":
        self.socket.data_received(handshake())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert self.transport.take().startswith(b"HTTP/1.1 101 ")
        assert self.found is self.socket
        return self

    async def attached(self) -> "Accepted":
        await self.open()
        self.socket.attach(self.sink)
        self.sink.told.clear()
        return self


async def test_messages_go_to_the_sink_and_then_a_flush() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"one") + frame(b"two", TEXT))
    assert accepted.sink.told == [b"one", "two", "(flush)"]


async def test_what_came_before_the_sink_is_handed_over_and_holds_up_the_rest() -> None:
    accepted = await Accepted().open()
    accepted.socket.data_received(frame(b"one") + frame(b"two", TEXT))
    assert not accepted.transport.reading
    accepted.socket.attach(accepted.sink)
    assert accepted.sink.told == [b"one", "two", "(flush)"]
    assert accepted.transport.reading


async def test_a_socket_lost_before_it_has_a_sink_tells_so() -> None:
    accepted = await Accepted().open()
    accepted.socket.data_received(frame(b"one"))
    accepted.socket.connection_lost(None)
    accepted.socket.attach(accepted.sink)
    assert accepted.sink.told == [b"one", "(flush)", "(lost)"]


async def turns() -> None:
    for _ in range(1000):
        await asyncio.sleep(0)


def numbered(count: int) -> list[bytes]:
    return [number.to_bytes(2) for number in range(count)]


async def test_who_sends_much_at_once_waits_while_others_have_their_turns() -> None:
    accepted = await Accepted(sink=Slow()).attached()
    told, messages = accepted.sink.told, numbered(1000)
    accepted.socket.data_received(b"".join(map(frame, messages)))
    assert not accepted.transport.is_reading()
    counts = [len(told)]
    for _ in range(1000):
        await asyncio.sleep(0)
        counts.append(len(told))
    assert accepted.transport.is_reading()
    assert max(after - before for before, after in pairwise(counts)) < 3 * TURN_MESSAGES
    assert [item for item in told if item != "(flush)"] == messages
    assert told[-1] == "(flush)"


async def test_the_general_parser_has_turns_too() -> None:
    accepted = await Accepted(sink=Slow()).attached()
    messages = numbered(1000)
    accepted.socket.data_received(b"".join(frame(b"?", PING) + frame(it) for it in messages))
    assert not accepted.transport.is_reading()
    assert len(accepted.sink.told) < 2 * SLICE_BYTES // len(frame(b"??"))
    await turns()
    assert accepted.transport.is_reading()
    assert [item for item in accepted.sink.told if item != "(flush)"] == messages
    assert accepted.transport.take() == b"\x8a\x01?" * 1000


async def test_what_was_read_behind_a_pause_comes_in_its_order() -> None:
    accepted = await Accepted(sink=Slow()).attached()
    messages = numbered(300)
    accepted.socket.data_received(b"".join(map(frame, messages[:200])))
    accepted.socket.data_received(b"".join(map(frame, messages[200:])))
    await turns()
    assert accepted.transport.is_reading()
    assert [item for item in accepted.sink.told if item != "(flush)"] == messages


async def test_a_sink_that_wants_no_more_gets_no_more() -> None:
    accepted = await Accepted(sink=Slow()).attached()
    accepted.socket.data_received(b"".join(map(frame, numbered(500))))
    accepted.socket.pause()
    had = len(accepted.sink.told)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(accepted.sink.told) <= had + 1  # a flush
    assert not accepted.transport.is_reading()
    accepted.socket.resume()
    await turns()
    assert accepted.transport.is_reading()
    assert [item for item in accepted.sink.told if item != "(flush)"] == numbered(500)


async def test_what_came_before_a_loss_is_not_lost() -> None:
    accepted = await Accepted(sink=Slow()).attached()
    accepted.socket.data_received(b"".join(map(frame, numbered(500))))
    accepted.socket.pause()
    accepted.transport.closing = True
    accepted.socket.connection_lost(None)
    await turns()
    said = [item for item in accepted.sink.told if item != "(flush)"]
    assert said == [*numbered(500), "(lost)"]


async def test_fragments_are_one_message() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"o", TEXT, fin=False) + frame(b"n", 0, fin=False))
    accepted.socket.data_received(frame(b"e", 0))
    assert accepted.sink.told == ["(flush)", "one", "(flush)"]


async def test_empty_fragments_without_end_keep_nothing() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"", fin=False))
    accepted.socket.data_received(frame(b"", 0, fin=False) * 10_000)
    assert accepted.socket.frames == []
    accepted.socket.data_received(frame(b"x", 0))
    assert accepted.sink.told[-2:] == [b"x", "(flush)"]


async def test_broken_utf_8_reaches_the_sink() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"\xff\xfe", TEXT))
    assert accepted.sink.told == ["\udcff\udcfe", "(flush)"]


@pytest.mark.parametrize("declared", [262_145, 2**40])
async def test_too_large_a_message_is_closed_by_its_header(declared: int) -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"", declared=declared))
    assert close_code(accepted.transport.take()) == 1009
    assert accepted.sink.told == ["(flush)", "(lost)"]


async def test_what_follows_a_broken_frame_is_read_and_dropped() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"", declared=2**40))
    accepted.transport.take()
    assert accepted.transport.eof_written
    assert not accepted.transport.closing
    accepted.socket.data_received(bytes(100_000))
    assert accepted.transport.take() == b""
    await asyncio.sleep(BROKEN_LINGER + 0.1)
    assert accepted.transport.aborted


async def test_a_transport_without_half_close_lingers_too() -> None:
    accepted = await Accepted(eof=False).attached()
    accepted.socket.data_received(frame(b"", declared=2**40))
    assert not accepted.transport.eof_written
    assert not accepted.transport.closing


async def test_a_ping_is_answered() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"?", PING))
    assert accepted.transport.take() == b"\x8a\x01?"


async def test_who_pings_and_does_not_read_is_owed_nothing() -> None:
    accepted = await Accepted().attached()
    accepted.socket.pause_writing()
    assert not accepted.socket.is_writable
    accepted.socket.data_received(frame(b"?", PING) * 1000)
    assert accepted.transport.take() == b""
    accepted.socket.resume_writing()
    assert set(accepted.sink.told) == {"(flush)"}
    accepted.socket.data_received(frame(b"!", PING))
    assert accepted.transport.take() == b"\x8a\x01!"


async def test_frames_leave_in_one_write() -> None:
    accepted = await Accepted().attached()
    accepted.socket.write(["one", b"two"])
    assert accepted.transport.take() == b"\x81\x03one\x82\x03two"


async def test_a_close_comes_behind_what_was_written_and_waits_for_its_answer() -> None:
    accepted = await Accepted().attached()
    accepted.socket.pause_writing()
    accepted.socket.write(["last"])
    accepted.socket.close(4408, "slow_consumer")
    reason = struct.pack(">H", 4408) + b"slow_consumer"
    assert accepted.transport.take() == b"\x81\x04last\x88" + bytes([len(reason)]) + reason
    accepted.socket.write(["too late"])
    accepted.socket.close(1000)
    assert accepted.transport.take() == b""
    accepted.socket.data_received(frame(b"ignored") + frame(reason, CLOSE))
    assert accepted.transport.closing
    assert not accepted.transport.aborted
    assert b"ignored" not in accepted.sink.told


async def test_who_does_not_answer_a_close_is_dropped() -> None:
    accepted = await Accepted().attached()
    accepted.socket.close(1000)
    accepted.over.set()
    await asyncio.sleep(CLOSE_LINGER - 0.1)
    assert not accepted.transport.closing
    await asyncio.sleep(0.2)
    assert accepted.transport.aborted


async def test_a_close_reads_again_for_its_answer() -> None:
    accepted = await Accepted().attached()
    accepted.socket.pause()
    accepted.socket.close(1000)
    assert accepted.transport.reading


async def test_a_peer_s_close_is_answered_and_tells_the_sink() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"last") + frame(b"\x03\xe8", CLOSE))
    assert accepted.sink.told == [b"last", "(flush)", "(lost)"]
    assert close_code(accepted.transport.take()) == 1000
    assert accepted.socket.closed_by_peer
    await asyncio.sleep(CLOSE_LINGER + 0.1)
    assert accepted.transport.aborted  # it closed, but never read


async def test_a_lost_connection_tells_the_sink_and_is_not_dropped_again() -> None:
    accepted = await Accepted().attached()
    accepted.socket.close(1000)
    accepted.socket.connection_lost(None)
    assert accepted.sink.told == ["(lost)"]
    await asyncio.sleep(CLOSE_LINGER + 0.1)
    assert not accepted.transport.aborted
    accepted.socket.write(["nobody"])
    accepted.socket.close(1000)


async def test_a_shutdown_waits_for_nobody() -> None:
    accepted = await Accepted().attached()
    accepted.socket.shutdown()
    assert close_code(accepted.transport.take()) == 1012
    await asyncio.sleep(BROKEN_LINGER + 0.1)
    assert BROKEN_LINGER < GRACE
    assert accepted.transport.aborted


async def test_a_shutdown_does_not_wait_for_who_is_slow_to_leave() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(frame(b"\x03\xe8", CLOSE))
    assert accepted.transport.closing
    accepted.socket.shutdown()
    assert close_code(accepted.transport.take()) == 1000
    await asyncio.sleep(BROKEN_LINGER + 0.1)
    assert accepted.transport.aborted


async def test_reading_can_be_held_up() -> None:
    accepted = await Accepted().attached()
    accepted.socket.pause()
    accepted.socket.pause()
    assert not accepted.transport.reading
    accepted.socket.resume()
    accepted.socket.resume()
    assert accepted.transport.reading


async def test_little_is_buffered() -> None:
    accepted = await Accepted().attached()
    assert accepted.transport.high == WRITE_HIGH_BYTES
    accepted.transport.unsent = 5
    assert accepted.socket.unsent_bytes == 5


async def test_the_headers_are_not_kept() -> None:
    accepted = await Accepted().attached()
    assert not {"request", "response", "scope"} & set(vars(accepted.socket))


@pytest.mark.parametrize("header", ["X-Long: " + "x" * 20_000, "Sec-WebSocket-Version: 12"])
async def test_a_handshake_that_cannot_be_read_is_refused(header: str) -> None:
    accepted = Accepted()
    accepted.socket.data_received(handshake(header))
    assert accepted.transport.take().startswith(b"HTTP/1.1 4")
    assert accepted.transport.closing


async def test_a_frame_without_a_mask_is_a_protocol_error() -> None:
    accepted = await Accepted().attached()
    accepted.socket.data_received(bytes([0x80 | BINARY, 1, 0]))
    assert close_code(accepted.transport.take()) == 1002


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.http.response.start", "status": 404, "headers": []})
    await send({"type": "websocket.http.response.body", "body": b"no"})


async def accept(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept", "subprotocol": None})


@pytest.mark.parametrize(("app", "left"), [(refuse, False), (refuse, True), (accept, True)])
async def test_no_refusal_and_no_client_that_left_is_logged_as_a_fault(
    app: ASGIApp, left: bool, caplog: pytest.LogCaptureFixture
) -> None:
    transport = FakeTransport()
    socket = SpeechSocket(config(app), state(), {})
    socket.connection_made(transport)
    socket.data_received(handshake())
    transport.closing = left
    for _ in range(3):
        await asyncio.sleep(0)
    assert not socket.tasks
    assert caplog.records == []
    assert transport.take().startswith(b"HTTP/1.1 404 ") == (app is refuse)
