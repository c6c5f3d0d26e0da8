import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.types import Message

from legato.bus.base import Job, StreamKey
from legato.bus.memory import MemoryBus
from legato.errors import LegatoError, Unauthenticated
from legato.gateway.access import Access
from legato.gateway.administration import Administration, failed
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import DEFAULT_TENANT, Identify, Identity, anyone
from legato.protocol.messages import StreamStart

HERE = ("127.0.0.1", 5)
ELSEWHERE = ("203.0.113.9", 5)
KEYS = {"sesame": Identity("acme", proven=True)}


def keyed(headers: Mapping[str, str], auth: str | None) -> Identity:
    if auth not in KEYS:
        raise Unauthenticated("show a key")
    return KEYS[auth]


def application(bus: MemoryBus, identify: Identify = anyone, **settings: Any) -> Starlette:
    clock = asyncio.get_running_loop().time
    access = Access(GatewayConfig(**settings), identify)
    made = Administration(bus, access=access, clock=clock)
    return Starlette(routes=list(made.routes()), exception_handlers={LegatoError: failed})


async def ask(
    app: Starlette,
    path: str,
    method: str = "GET",
    *,
    client: tuple[str, int] | None = HERE,
    **headers: str,
) -> tuple[int, Any]:
    """Have one request answered; returns status and JSON."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "http_version": "1.1",
        "headers": pairs,
        "client": client,
    }
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], json.loads(body) if body.startswith(b"{") else body


async def furnish(bus: MemoryBus, name: str = "s1", tenant: str = DEFAULT_TENANT) -> StreamKey:
    """Make a stream whose job a worker holds."""
    key = StreamKey(tenant, name)
    await bus.logs.create(key, ttl=60)
    start = StreamStart(stream_id=name, task="echo")
    await bus.jobs.submit(Job(key=key, engine="echo", start=start))
    assert await bus.jobs.claim(("echo",), "w1", lease=60, wait=0)
    return key


async def test_a_tenant_sees_its_own_leases_and_counts_all() -> None:
    bus = MemoryBus()
    await furnish(bus, "mine", "acme")
    await furnish(bus, "theirs", "other")
    app = application(bus, keyed)
    status, seen = await ask(app, "/v1/cluster", authorization="Bearer sesame")
    assert status == 200
    assert [lease["stream_id"] for lease in seen["leases"]] == ["mine"]
    assert seen["held"] == 2


async def test_the_bus_is_looked_at_once_a_second() -> None:
    bus = MemoryBus()
    app = application(bus)
    assert (await ask(app, "/v1/cluster"))[1]["held"] == 0
    await furnish(bus)
    assert (await ask(app, "/v1/cluster"))[1]["held"] == 0
    await asyncio.sleep(1.0)
    assert (await ask(app, "/v1/cluster"))[1]["held"] == 1


async def test_a_stream_is_forgotten_from_this_machine() -> None:
    bus = MemoryBus()
    key = await furnish(bus)
    app = application(bus)
    status, answer = await ask(app, "/v1/streams/s1", "DELETE")
    assert (status, answer["erased"]["streams"], answer["erased"]["jobs"]) == (200, 1, 1)
    assert not await bus.logs.exists(key)
    status, answer = await ask(app, "/v1/streams/s1", "DELETE")
    assert (status, set(answer["erased"].values())) == (200, {0})


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        (ELSEWHERE, {}),
        (None, {}),
        (HERE, {"x_forwarded_for": "203.0.113.9"}),
        (HERE, {"forwarded": "for=203.0.113.9"}),
        (HERE, {"origin": "https://evil.example", "host": "127.0.0.1:8440"}),
        (HERE, {"origin": "https://evil.example", "host": "evil.example"}),
    ],
)
async def test_nobody_else_may_forget_without_a_key(
    client: tuple[str, int] | None, headers: dict[str, str]
) -> None:
    bus = MemoryBus()
    key = await furnish(bus)
    status, answer = await ask(
        application(bus), "/v1/streams/s1", "DELETE", client=client, **headers
    )
    assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert await bus.logs.exists(key)


async def test_with_a_key_ones_own_streams_are_forgotten_from_anywhere() -> None:
    bus = MemoryBus()
    mine, theirs = await furnish(bus, tenant="acme"), await furnish(bus, tenant="other")
    app = application(bus, keyed)
    status, _ = await ask(
        app, "/v1/streams/s1", "DELETE", client=ELSEWHERE, authorization="Bearer sesame"
    )
    assert status == 200
    assert not await bus.logs.exists(mine)
    assert await bus.logs.exists(theirs)


@pytest.mark.parametrize(("path", "method"), [("/v1/cluster", "GET"), ("/v1/streams/s1", "DELETE")])
async def test_a_wrong_key_is_told(path: str, method: str) -> None:
    app = application(MemoryBus(), keyed)
    status, answer = await ask(app, path, method, authorization="Bearer wrong")
    assert (status, answer["error"]["code"]) == (401, "unauthenticated")


async def test_what_is_no_stream_id_is_told() -> None:
    status, answer = await ask(application(MemoryBus()), "/v1/streams/a..b", "DELETE")
    assert (status, answer["error"]["code"]) == (400, "malformed_message")


async def test_a_bus_that_is_away_is_told() -> None:
    bus = MemoryBus()
    await bus.close()
    status, answer = await ask(application(bus), "/v1/cluster")
    assert (status, answer["error"]["code"]) == (503, "bus_unavailable")


async def test_a_stream_is_not_read_at_its_address() -> None:
    status, _ = await ask(application(MemoryBus()), "/v1/streams/s1")
    assert status == 405
