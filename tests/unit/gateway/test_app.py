import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message

from legato.bus.records import EngineRecord, VoiceRecord
from legato.gateway.app import Gateway as App
from legato.gateway.catalog import Catalog
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import anyone
from tests.unit.gateway.stage import EAR, TONE, Gateway, offer

Headers = dict[str, str]


async def app(*, stocked: bool = True, **settings: Any) -> tuple[App, Gateway]:
    """The application, without a network."""
    gateway = Gateway()
    if stocked:
        await offer(gateway.bus, TONE, EAR)
    clock = asyncio.get_running_loop().time
    made = App(
        GatewayConfig(**settings),
        streams=gateway.streams,
        catalog=Catalog(gateway.bus.registry, clock),
        identify=anyone,
        clock=clock,
    )
    return made, gateway


async def ask(made: App, scope: dict[str, Any]) -> list[Message]:
    """Have one request answered."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await made({"headers": [], "path": "/", "subprotocols": [], **scope}, receive, send)
    return sent


async def get(made: App, path: str) -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "http_version": "1.1",
    }
    start, body = (await ask(made, scope))[:2]
    return start["status"], body["body"]


async def refusal(made: App, path: str = "/v1/stream", **more: Any) -> tuple[int, str]:
    start, body = await ask(made, {"type": "websocket", "path": path, **more})
    assert start["type"] == "websocket.http.response.start"
    return start["status"], body["body"].decode()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/v1/engines", 200),
        ("/v1/stream", 426),
        ("/v1/stream/", 404),
        ("/", 404),
        ("/nothing", 404),
    ],
)
async def test_routes(path: str, status: int) -> None:
    made, _ = await app(console=False)
    assert (await get(made, path))[0] == status


async def test_ready_is_when_engines_are_there_and_nobody_leaves() -> None:
    made, gateway = await app(stocked=False)
    assert await get(made, "/readyz") == (503, b"engines are loading\n")
    await offer(gateway.bus, TONE, EAR)
    await asyncio.sleep(1.0)
    assert await get(made, "/readyz") == (200, b"ready\n")
    made.draining = True
    assert await get(made, "/readyz") == (503, b"draining\n")


async def test_a_bus_that_is_away_is_told() -> None:
    made, gateway = await app()
    await gateway.bus.close()
    status, body = await get(made, "/v1/engines")
    assert (status, b"bus_unavailable" in body) == (503, True)


async def test_an_address_that_is_none_is_named() -> None:
    made, _ = await app()
    status, sentence = await refusal(made, "/v1/streams")
    assert status == 404
    assert "/v1/stream" in sentence


async def test_a_page_from_elsewhere_is_refused() -> None:
    made, _ = await app()
    assert (await refusal(made, headers=[(b"origin", b"https://evil.example")]))[0] == 403


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 403), ("0.0.0.0", 400)])
async def test_a_server_of_this_machine_asks_for_more_of_a_page(host: str, status: int) -> None:
    made, _ = await app(host=host)
    headers = [(b"host", b"a.example:8440"), (b"origin", b"http://a.example:8440")]
    assert (await refusal(made, headers=headers, subprotocols=["legato.v2"]))[0] == status


async def test_another_version_is_refused_with_the_one_spoken() -> None:
    made, _ = await app()
    status, sentence = await refusal(made, subprotocols=["legato.v2"])
    assert status == 400
    assert "legato.v1" in sentence


async def test_a_server_that_goes_away_or_is_full_refuses() -> None:
    made, _ = await app(max_connections=0)
    status, sentence = await refusal(made)
    assert (status, "room" in sentence) == (503, True)
    made.draining = True
    status, sentence = await refusal(made)
    assert (status, "going away" in sentence) == (503, True)


async def test_engines_are_described_with_the_aliases_of_their_voices() -> None:
    made, gateway = await app(stocked=False)
    voice = VoiceRecord(name="heart", engine="hibari", languages=("en-US",))
    hibari = EngineRecord(
        kind="synthesize",
        name="hibari",
        languages=("en-US",),
        voices=(voice,),
        state="ready",
        default=True,
    )
    await offer(gateway.bus, hibari, EAR)
    _, body = await get(made, "/v1/engines")
    described = {engine["name"]: engine for engine in json.loads(body)["engines"]}
    assert "alloy" in described["hibari"]["voices"][0]["aliases"]
    assert "voices" not in described["ear"]
