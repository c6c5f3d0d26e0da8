"""A client breaks its own connection, and nothing is lost."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

import legato
from legato.gateway.impaired import Impaired
from legato.protocol.media import AudioFrame
from tests.integration.gateway.test_routes import Answer
from tests.integration.gateway.wire import FRAME, Peer, Plain, Site, eventually, serving

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


async def ask(
    site: Site, session: str, body: dict[str, Any] | bytes, *headers: str, method: str = "POST"
) -> Answer:
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (
        f"{method} /v1/sessions/{session}/impairment HTTP/1.1",
        "Host: here",
        f"Content-Length: {len(payload)}",
        "Connection: close",
        *headers,
        "",
        "",
    )
    async with Plain(site.server.port) as plain:
        await plain.send("\r\n".join(lines).encode() + payload)
        return Answer(await plain.read_all())


async def impair(site: Site, peer: Peer, **order: Any) -> dict[str, Any]:
    welcome = peer.welcome
    answer = await ask(site, welcome["session_id"], {"token": welcome["resume_token"], **order})
    assert answer.status == 200, answer.body
    return dict(json.loads(answer.body)["impairment"])


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, json.loads(answer.body)["error"]["code"]


async def echoed(peer: Peer, count: int) -> list[AudioFrame]:
    await peer.send(*[FRAME] * count)
    return await peer.frames(count)


async def test_a_cut_resets_this_connection_and_no_other(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        started = await peer.start("echo")
        assert await impair(site, peer, action="cut") == {"action": "cut", "profile": "none"}
        assert (await peer.closed())[0] == 1006
        await eventually(lambda: site.server.open_connections == 1)
    async with site.peer() as again:
        await again.say(
            "resume",
            stream=1,
            stream_id=started["stream_id"],
            token=peer.welcome["resume_token"],
            received_seq=-1,
            epoch=0,
        )
        await again.hear("resumed")
        assert len(await echoed(again, 3)) == 3
        await again.say("stop", stream=1)


async def test_a_freeze_holds_both_directions_and_then_gives_everything(
    site: Site, bystander: Peer
) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        loop = asyncio.get_running_loop()
        told = await impair(site, peer, action="freeze", seconds=0.5)
        assert told == {"action": "freeze", "seconds": 0.5, "profile": "none"}
        asked_at = loop.time()
        frames = await echoed(peer, 20)
        assert loop.time() - asked_at > 0.4
        assert [frame.seq for frame in frames] == list(range(20))
        asked_at = loop.time()
        await echoed(peer, 1)
        assert loop.time() - asked_at < 0.3
        await peer.say("stop", stream=1)


async def test_a_bad_network_delays_both_directions_until_it_is_mended(
    site: Site, bystander: Peer
) -> None:
    loop = asyncio.get_running_loop()
    async with site.peer() as peer:
        await peer.start("echo")
        await impair(site, peer, action="network", profile="very_bad")
        began = loop.time()
        frames = await echoed(peer, 5)
        assert [frame.seq for frame in frames] == list(range(5))
        assert loop.time() - began > 0.1  # half a jitter less than the round trip
        told = await impair(site, peer, action="freeze", seconds=0.1)
        assert told["profile"] == "very_bad"
        assert (await impair(site, peer, action="network", profile="none"))["profile"] == "none"
        await echoed(peer, 1)
        began = loop.time()
        await echoed(peer, 1)
        assert loop.time() - began < 0.1
        await peer.say("stop", stream=1)


async def test_who_stops_impairing_has_nothing_in_its_way(shared: Site) -> None:
    async with shared.peer() as peer:
        await peer.start("echo")
        (connection,) = shared.server._gateway.connections  # noqa: SLF001  (the test made it)
        whole = connection.socket.transport  # type: ignore[attr-defined]  # uvicorn's
        await impair(shared, peer, action="freeze", seconds=0.05)
        assert isinstance(connection.socket.transport, Impaired)  # type: ignore[attr-defined]  # uvicorn's
        await echoed(peer, 3)
        await eventually(lambda: connection.socket.transport is whole)  # type: ignore[attr-defined]  # uvicorn's
        await echoed(peer, 3)
        await peer.say("stop", stream=1)


async def test_a_frozen_client_that_goes_on_sending_is_held_back() -> None:
    async with serving() as site, site.peer() as peer:
        await peer.start("echo")
        await impair(site, peer, action="freeze", seconds=2.0)
        (connection,) = site.server._gateway.connections  # noqa: SLF001  (the test made it)
        impaired = connection.socket.transport  # type: ignore[attr-defined]  # uvicorn's
        flood = asyncio.create_task(peer.send(*[FRAME * 16] * 400))
        await asyncio.sleep(0.5)
        assert impaired.under_way[0] < 400_000  # what one read of the loop brings on top
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)


@pytest.mark.parametrize(
    "order",
    [
        b"no json",
        b"[]",
        {"action": "cut"},
        {"token": "t", "action": "burn"},
        {"token": "t", "action": "freeze"},
        {"token": "t", "action": "freeze", "seconds": 0},
        {"token": "t", "action": "freeze", "seconds": 10.5},
        {"token": "t", "action": "network"},
        {"token": "t", "action": "network", "profile": "awful"},
        {"token": "t", "action": "cut", "more": 1},
    ],
)
async def test_an_order_that_is_none_is_told(shared: Site, order: dict[str, Any] | bytes) -> None:
    assert code(await ask(shared, "s", order)) == (400, "malformed_message")


async def test_a_large_order_is_told(shared: Site) -> None:
    assert code(await ask(shared, "s", b" " * 5000)) == (413, "message_too_large")


async def test_nobody_breaks_anothers_connection(shared: Site) -> None:
    async with shared.peer() as peer, shared.peer() as other:
        order = {"token": other.welcome["resume_token"], "action": "cut"}
        answer = await ask(shared, peer.welcome["session_id"], order)
        assert code(answer) == (403, "forbidden")
        await peer.start("echo")
        assert len(await echoed(peer, 1)) == 1
        await peer.say("stop", stream=1)


async def test_a_session_that_is_not_here_is_told_and_may_be_asked_for_anew(shared: Site) -> None:
    answer = await ask(shared, "elsewhere", {"token": "t", "action": "cut"})
    assert code(answer) == (404, "unknown_session")
    assert answer.headers["connection"] == "close"


async def test_a_foreign_page_may_not(shared: Site) -> None:
    order = {"token": "t", "action": "cut"}
    answer = await ask(shared, "s", order, "Origin: https://evil.example")
    assert code(answer) == (403, "forbidden")


async def test_it_is_not_asked_with_put(shared: Site) -> None:
    answer = await ask(shared, "s", b"", method="PUT")
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


async def allowed(site: Site, *headers: str) -> dict[str, Any]:
    answer = await ask(site, "s", b"", *headers, method="GET")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    return dict(json.loads(answer.body)["impairment"])


async def test_whether_it_may_be_asked_is_told_without_a_session(shared: Site) -> None:
    assert await allowed(shared) == {"allowed": True}
    told = await allowed(shared, "Origin: https://evil.example")
    assert not told["allowed"]
    assert "allowed_origins" in told["reason"]


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({}, 404),
        ({"impairments": False}, 403),
        ({"host": "0.0.0.0"}, 403),
        ({"host": "0.0.0.0", "impairments": True}, 404),
    ],
)
async def test_it_is_only_for_this_machine_unless_it_is_set(
    settings: dict[str, Any], status: int
) -> None:
    async with serving(work=False, **settings) as site:
        answer = await ask(site, "s", {"token": "t", "action": "cut"})
        assert answer.status == status
        assert status == 404 or b"gateway.impairments" in answer.body
        told = await allowed(site)
        assert told["allowed"] is (status == 404)
        assert told["allowed"] or "gateway.impairments" in told["reason"]


# with our own client


@asynccontextmanager
async def client_of(site: Site) -> AsyncIterator[legato.Client]:
    async with legato.connect(url=site.server.url) as client:
        yield client


async def break_all(site: Site, do: Callable[[Any], Any]) -> None:
    """Do something to every connection, as its own client would ask for."""
    for connection in list(site.server._gateway.connections):  # noqa: SLF001  (the test made it)
        order = do(connection._session.resume_token)  # noqa: SLF001  (the test made it)
        answer = await ask(site, connection.session_id, order)
        assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    "order",
    [
        {"action": "cut"},
        {"action": "freeze", "seconds": 3.0},
        {"action": "network", "profile": "lossy"},
        {"action": "network", "profile": "3g"},
    ],
    ids=["cut", "freeze", "lossy", "3g"],
)
async def test_our_client_loses_nothing(order: dict[str, Any]) -> None:
    rng = Random(1)
    sound = [rng.randbytes(640) for _ in range(100)]

    async with serving() as site, client_of(site) as client:

        async def talk() -> AsyncIterator[bytes]:
            for number, payload in enumerate(sound):
                yield payload
                if number == 30:
                    await break_all(site, lambda token: {"token": token, **order})
                await asyncio.sleep(0.01)

        echo = client.echo(talk())
        heard = b""
        async with asyncio.timeout(30):
            async for chunk in echo:
                heard += chunk.pcm
        assert heard == b"".join(sound)
        assert echo.intact
        assert echo.resumes == (1 if order["action"] == "cut" else echo.resumes)
