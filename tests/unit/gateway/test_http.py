import asyncio
import gc
import weakref

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.server import ServerState

from legato.gateway.http import MAX_HEADER_BYTES, BoundedHttp
from tests.unit.gateway.transport import FakeTransport, config, handshake, state

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Asked:
    """One HTTP connection to an application that answers when it is let."""

    def __init__(
        self,
        shared: ServerState | None = None,
        *,
        free: bool = True,
        kind: type[BoundedHttp] = BoundedHttp,
    ) -> None:
        self.transport = FakeTransport()
        self.gate = asyncio.Event()
        if free:
            self.gate.set()
        app = Starlette(routes=[Route("/", self._answer)])
        self.http = kind(config(app), shared or state(), {})
        self.http.connection_made(self.transport)

    async def _answer(self, request: Request) -> Response:
        await self.gate.wait()
        return PlainTextResponse("answer")

    async def answers(self) -> bytes:
        for _ in range(20):
            await asyncio.sleep(0)
        return self.transport.take()


async def test_a_request_is_answered_and_another_one_after_it() -> None:
    asked = Asked()
    for _ in range(2):
        asked.http.data_received(GET)
        assert (await asked.answers()).endswith(b"answer")
    assert not asked.transport.closing


async def test_silence_is_closed_after_the_header_timeout() -> None:
    asked = Asked()
    await asyncio.sleep(9.9)
    assert not asked.transport.closing
    await asyncio.sleep(0.2)
    assert asked.transport.closing


async def test_a_header_that_trickles_is_closed() -> None:
    asked = Asked()
    for byte in GET[:12]:
        await asyncio.sleep(1.0)
        if not asked.transport.closing:
            asked.http.data_received(bytes([byte]))
    assert asked.transport.closing


async def test_the_second_header_may_not_trickle_either() -> None:
    asked = Asked()
    asked.http.data_received(GET)
    assert await asked.answers()
    for byte in GET[:12]:
        if not asked.transport.closing:
            asked.http.data_received(bytes([byte]))
        await asyncio.sleep(1.0)
    assert asked.transport.closing


async def test_who_does_not_read_either_is_cut_off() -> None:
    asked = Asked()
    asked.transport.unsent = 100
    await asyncio.sleep(10.1)
    assert asked.transport.aborted


async def test_time_that_the_answer_takes_is_not_the_client_s() -> None:
    asked = Asked(free=False)
    asked.http.data_received(GET)
    await asyncio.sleep(60.0)
    assert not asked.transport.closing
    asked.gate.set()
    assert (await asked.answers()).endswith(b"answer")


async def test_a_header_without_end_is_refused() -> None:
    asked = Asked()
    asked.http.data_received(b"GET / HTTP/1.1\r\n")
    line = b"X-More: " + bytes(b"x" * 1000) + b"\r\n"
    for _ in range(MAX_HEADER_BYTES // len(line) + 1):
        if not asked.transport.closing:
            asked.http.data_received(line)
    assert asked.transport.closing
    assert asked.transport.take().startswith(b"HTTP/1.1 400 ")


async def test_a_body_is_no_header() -> None:
    asked = Asked()
    head = b"GET / HTTP/1.1\r\nHost: here\r\nContent-Length: 200000\r\n\r\n"
    asked.http.data_received(head + bytes(100_000))
    asked.http.data_received(bytes(100_000))
    assert b"answer" in await asked.answers()


async def test_pipelined_requests_are_not_kept_waiting_in_memory() -> None:
    asked = Asked(free=False)
    asked.http.data_received(GET * 1000)
    assert asked.transport.closing
    assert not asked.http.pipeline


async def test_more_connections_than_there_may_be_are_cut_off() -> None:
    class Narrow(BoundedHttp):
        max_connections = 2

    shared = state()
    asked = [Asked(shared, kind=Narrow) for _ in range(3)]
    assert [one.transport.aborted for one in asked] == [False, False, True]
    asked[2].http.connection_lost(None)
    asked[1].http.connection_lost(None)
    assert not Asked(shared, kind=Narrow).transport.aborted


async def test_what_is_no_http_is_refused() -> None:
    asked = Asked()
    asked.http.data_received(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    assert asked.transport.take().startswith(b"HTTP/1.1 400 ")
    asked.http.connection_lost(None)


async def test_the_http_side_of_a_websocket_is_not_kept() -> None:
    asked = Asked()
    asked.http.data_received(handshake())
    http = weakref.ref(asked.http)
    gc.disable()
    try:
        del asked.http
        assert http() is None
    finally:
        gc.enable()
    await asyncio.sleep(11.0)  # no deadline is left of it
    assert not asked.transport.aborted
