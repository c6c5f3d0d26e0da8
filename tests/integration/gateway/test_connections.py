"""Handshakes, deadlines, clients that do not read, and what is left when they are gone."""

import asyncio
import gc
import socket
import struct
import time

import pytest
from websockets.exceptions import InvalidStatus

from legato.gateway.identity import Identity
from legato.telemetry.metrics import REGISTRY
from tests.integration.gateway.wire import FRAME, Peer, Plain, Site, eventually, serving
from tests.unit.gateway.transport import PING, close_code, frame, handshake

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


# handshakes


@pytest.mark.parametrize(
    ("offered", "echoed"),
    [
        (["legato.v1"], "legato.v1"),
        (["ticket.c2VjcmV0", "legato.v1"], "legato.v1"),
        (["legato.v1", "legato.v2"], "legato.v1"),
        (["ticket.c2VjcmV0"], None),
        (["graphql-ws"], None),
        (None, None),
    ],
)
async def test_only_our_subprotocol_is_echoed(
    site: Site, offered: list[str] | None, echoed: str | None
) -> None:
    async with Plain(site.server.port) as plain:
        lines = [f"Sec-WebSocket-Protocol: {', '.join(offered)}"] if offered else []
        await plain.send(handshake(*lines))
        answer = (await plain.read_until(b"\r\n\r\n")).decode()
        assert answer.startswith("HTTP/1.1 101 ")
        assert (f"sec-websocket-protocol: {echoed}" in answer.lower()) is (echoed is not None)
        assert "c2VjcmV0" not in answer


async def test_another_version_s_subprotocol_is_refused(site: Site) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with site.peer(subprotocols=["legato.v2"]):
            pass
    assert caught.value.response.status_code == 400
    assert b"legato.v1" in caught.value.response.body


async def test_nothing_is_compressed(site: Site) -> None:
    async with Plain(site.server.port) as plain:
        await plain.send(handshake("Sec-WebSocket-Extensions: permessage-deflate"))
        answer = await plain.read_until(b"\r\n\r\n")
        assert b"permessage-deflate" not in answer


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1:{port}.evil.example"],
)
async def test_a_page_from_elsewhere_is_refused(site: Site, origin: str) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with site.peer(origin=origin.format(port=site.server.port)):
            pass
    assert caught.value.response.status_code == 403


async def test_pages_from_here_and_programs_are_let_in(site: Site) -> None:
    async with site.peer(origin=f"http://127.0.0.1:{site.server.port}"), site.peer():
        pass


async def test_a_named_origin_is_let_in_as_it_is_written() -> None:
    async with serving(work=False, allowed_origins=("https://app.example",)) as site:
        async with site.peer(origin="https://app.example"):
            pass
        with pytest.raises(InvalidStatus):
            async with site.peer(origin="https://APP.example"):
                pass


async def test_a_name_that_was_made_to_point_here_is_refused(site: Site) -> None:
    request = handshake("Origin: http://evil.example:8440").replace(
        b"Host: here", b"Host: evil.example:8440"
    )
    async with Plain(site.server.port) as plain:
        await plain.send(request)
        assert (await plain.read_all()).startswith(b"HTTP/1.1 403 ")


async def test_two_origins_are_none(site: Site) -> None:
    here = f"Origin: http://127.0.0.1:{site.server.port}"
    async with Plain(site.server.port) as plain:
        await plain.send(handshake("Origin: https://evil.example", here))
        assert (await plain.read_all()).startswith(b"HTTP/1.1 400 ")


async def test_there_is_one_address_for_streams(site: Site) -> None:
    async with Plain(site.server.port) as plain:
        await plain.send(handshake(target="/v2/stream"))
        answer = await plain.read_all()
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"/v1/stream" in answer


async def test_a_full_server_refuses_and_has_room_again() -> None:
    async with serving(work=False, max_connections=2) as site:
        async with site.peer(), site.peer():
            with pytest.raises(InvalidStatus) as caught:
                async with site.peer():
                    pass
            assert caught.value.response.status_code == 503
            assert caught.value.response.headers["Retry-After"] == "1"
        await eventually(lambda: site.server.open_connections == 0)
        async with site.peer():
            pass


# deadlines


@pytest.mark.parametrize("start", [b"", b"GET /healthz HTTP/1.1\r\nHost: he"])
async def test_a_header_that_does_not_come_is_not_waited_for(start: bytes) -> None:
    async with serving(work=False, header_timeout=0.5) as site, Plain(site.server.port) as plain:
        began = time.monotonic()
        await plain.send(start)
        assert await plain.read_all() == b""
        assert 0.4 < time.monotonic() - began < 3.0


async def test_a_header_that_trickles_is_not_waited_for() -> None:
    async with serving(work=False, header_timeout=0.5) as site, Plain(site.server.port) as plain:
        ended = asyncio.create_task(plain.read_all())
        for byte in handshake():
            if ended.done():
                break
            await plain.send(bytes([byte]))
            await asyncio.sleep(0.02)
        assert await ended == b""


async def test_who_says_nothing_after_the_handshake_is_closed_in_5_s(site: Site) -> None:
    async with site.peer(hello=False) as peer, Plain(site.server.port) as trickle:
        await trickle.send(handshake())
        await trickle.read_until(b"\r\n\r\n")
        ended = asyncio.create_task(trickle.read_until(struct.pack(">H", 4410)))
        message = frame(b'{"type":"hello","version":1}' + b" " * 10_000, 1)
        began = time.monotonic()
        for byte in message[:40]:
            await trickle.send(bytes([byte]))
            await asyncio.sleep(0.1)
        assert await peer.closed() == (4410, "idle_timeout")
        assert 4.0 < time.monotonic() - began < 7.0
        assert await ended


async def test_who_is_silent_for_too_long_is_closed() -> None:
    async with serving(work=False, idle_timeout=0.3) as site, site.peer() as peer:
        assert await peer.closed() == (4410, "idle_timeout")


async def test_pings_keep_a_connection() -> None:
    async with serving(work=False, idle_timeout=0.3) as site, site.peer() as peer:
        for number in range(1, 7):
            await asyncio.sleep(0.1)
            await peer.say("ping", id=number)
            assert (await peer.hear("pong"))["id"] == number


# clients that do not read


async def test_who_does_not_read_is_closed_and_others_go_on() -> None:
    async with (
        serving(slow_timeout=1.0) as site,
        Plain(site.server.port, receive_bytes=4096) as plain,
    ):
        async with site.peer() as bystander:
            await bystander.start("echo", stream_id="bystander")
            bystander.begin_echo()
            await plain.open()
            await plain.send(frame(START_SPEECH, 1))
            await plain.send(frame(b'{"type":"flow_control","rate":1000}', 1))
            await plain.read_until(b"stream_started")
            await plain.send(frame(LONG_TEXT, 1) + frame(FINALIZE, 1))
            before = resident_bytes()
            await eventually(lambda: site.server.open_connections == 1)
            assert resident_bytes() - before < 24 << 20
            assert close_code(await plain.read_all()) == 4408
            await bystander.end_echo()
        assert site.server.open_streams >= 1  # it may come back for the rest


START_SPEECH = b'{"type":"stream_start","stream":1,"stream_id":"slow","task":"synthesize"}'
LONG_TEXT = b'{"type":"text","stream":1,"seq":0,"text":"' + b"never ending story " * 1000 + b'"}'
FINALIZE = b'{"type":"finalize","stream":1,"seq":1}'


async def test_who_never_reads_again_is_dropped_too() -> None:
    async with (
        serving(slow_timeout=0.5) as site,
        Plain(site.server.port, receive_bytes=4096) as plain,
    ):
        await plain.open()
        await plain.send(frame(START_SPEECH, 1))
        await plain.send(frame(b'{"type":"flow_control","rate":1000}', 1))
        await plain.send(frame(LONG_TEXT, 1) + frame(FINALIZE, 1))
        await eventually(lambda: site.server.open_connections == 0)
        await eventually(lambda: tcp_connections(site.server.port) == 0)


async def test_who_asks_and_does_not_read_is_bounded(site: Site, bystander: Peer) -> None:
    async with Plain(site.server.port, receive_bytes=4096) as plain:
        await plain.open()
        before = resident_bytes()
        flood = frame(b'{"type":"ping","id":1}', 1) * 100 + frame(b"x" * 100, PING) * 100
        for _ in range(300):
            try:
                await plain.send(flood)
            except (ConnectionError, TimeoutError):
                break
        assert resident_bytes() - before < 24 << 20
        await eventually(lambda: site.server.open_connections == 1)


# what is left


async def test_after_many_connections_nothing_is_left() -> None:
    async with serving() as site:
        await leave_nothing(site)


async def leave_nothing(site: Site) -> None:
    await one_of_many(site)  # whatever is made once is made
    await eventually(site.is_empty)
    await asyncio.sleep(0.2)
    gc.collect()
    tasks, objects = len(asyncio.all_tasks()), len(gc.get_objects())
    before = gauges()
    for _ in range(20):
        await asyncio.gather(*(one_of_many(site) for _ in range(10)))
    await eventually(site.is_empty)
    await asyncio.sleep(0.5)
    gc.collect()
    assert len(asyncio.all_tasks()) == tasks
    assert len(gc.get_objects()) - objects < 200 * 10
    assert gauges() == before


async def one_of_many(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        await peer.send(FRAME)
        await peer.frames(1)
        await peer.say("stop", stream=1)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_client_that_leaves_is_waited_for_and_then_forgotten(how: str) -> None:
    async with serving(resume_window=0.5) as site:
        async with site.peer() as peer:
            await peer.start("echo")
            await peer.send(FRAME)
            await peer.frames(1)
            if how == "reset":
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                raw = peer.wire.transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                peer.wire.transport.abort()
        await eventually(lambda: site.server.open_connections == 0)
        assert site.server.open_streams == 1
        assert site.worker.active_jobs == 1
        await eventually(site.is_empty, within=3.0)


async def test_a_stop_is_obeyed_at_once() -> None:
    async with serving() as site, site.peer() as peer:
        await peer.start("recognize", engine="tone")
        await peer.send(FRAME)
        await peer.say("stop", stream=1)
        await eventually(lambda: site.bus.counts()["streams"] == 0, within=1.0)
        await eventually(lambda: site.worker.active_jobs == 0, within=2.0)


async def test_a_stop_that_comes_with_the_close_is_obeyed() -> None:
    async with serving() as site:
        async with site.peer() as peer:
            await peer.start("echo")
            await peer.say("stop", stream=1)
        await eventually(site.is_empty, within=2.0)


async def test_connections_that_die_while_a_stream_opens_leave_nothing() -> None:
    async with serving(resume_window=0.2) as site:
        for _ in range(30):
            async with Plain(site.server.port) as plain:
                await plain.send(handshake())
                await plain.read_until(b"\r\n\r\n")
                start = START_SPEECH.replace(b"slow", b"s%d" % time.monotonic_ns())
                await plain.send(frame(b'{"type":"hello","version":1}', 1) + frame(start, 1))
        await eventually(site.is_empty)


async def test_a_bug_in_the_identity_hook_ends_its_connection_alone() -> None:
    def broken(headers: object, auth: str | None) -> Identity:
        if auth == "break":
            raise RuntimeError("a bug")
        return Identity("default")

    async with serving(identify=broken) as site, site.peer() as good:
        async with site.peer(hello=False) as peer:
            await peer.say("hello", version=1, auth="break")
            assert await peer.closed() == (1011, "internal")
        await good.start("echo")
        await good.send(FRAME)
        await good.frames(1)


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  a virtual file, read in a wink
        return int(file.read().split()[1]) * 4096


def gauges() -> list[float]:
    return [gauge("legato_connections_active"), gauge("legato_streams_active", task="echo")]


def gauge(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def tcp_connections(port: int) -> int:
    """Established connections that this process still holds at the server's end."""
    with open("/proc/net/tcp", encoding="ascii") as file:  # noqa: PTH123  as above
        rows = [line.split() for line in file.read().splitlines()[1:]]
    local = f":{port:04X}"
    return sum(row[1].endswith(local) and row[3] == "01" for row in rows)
