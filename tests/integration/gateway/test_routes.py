"""What is asked for over HTTP."""

import json
import re

import pytest

from tests.integration.gateway.wire import Peer, Plain, Site, eventually, serving

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


class Answer:
    """A response, taken apart."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }


async def ask(site: Site, path: str, method: str = "GET") -> Answer:
    async with Plain(site.server.port) as plain:
        request = f"{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
        await plain.send(request.encode())
        return Answer(await plain.read_all())


async def test_a_live_and_ready_server_says_so(site: Site) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await ask(site, path)).status == 200
    assert (await ask(site, "/healthz", "HEAD")).status == 200


async def test_a_server_without_engines_is_live_and_not_ready() -> None:
    async with serving(work=False) as site:
        assert (await ask(site, "/healthz")).status == 200
        answer = await ask(site, "/readyz")
        assert (answer.status, answer.body) == (503, b"engines are loading\n")


async def test_a_server_without_its_bus_is_not_ready_and_says_why() -> None:
    async with serving(work=False) as site:
        await site.bus.close()
        for path in ("/readyz", "/v1/engines", "/v1/voices"):
            answer = await ask(site, path)
            assert answer.status == 503
            assert json.loads(answer.body)["error"]["code"] == "bus_unavailable"
        assert (await ask(site, "/healthz")).status == 200


async def test_engines_and_voices_are_listed(site: Site) -> None:
    engines = json.loads((await ask(site, "/v1/engines")).body)["engines"]
    assert {(engine["kind"], engine["name"]) for engine in engines} == {
        ("synthesize", "tone"),
        ("recognize", "tone"),
    }
    voices = json.loads((await ask(site, "/v1/voices")).body)["voices"]
    assert [voice["name"] for voice in voices] == ["tone"]


async def test_metrics_are_in_the_prometheus_format(site: Site, bystander: Peer) -> None:
    answer = await ask(site, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    for gauge in (rb"legato_connections_active", rb'legato_streams_active\{task="echo"\}'):
        found = re.search(rb"^" + gauge + rb" (\d+)\.0$", answer.body, re.MULTILINE)
        assert found is not None
        assert int(found[1]) >= 1


async def test_the_address_of_streams_wants_a_websocket(site: Site) -> None:
    answer = await ask(site, "/v1/stream")
    assert answer.status == 426
    assert answer.headers["upgrade"] == "websocket"


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/nothing", "GET", 404), ("/v1/engines", "POST", 405), ("/v1/stream/", "GET", 404)],
)
async def test_what_is_not_there(site: Site, path: str, method: str, status: int) -> None:
    assert (await ask(site, path, method)).status == status


async def test_the_console_is_at_the_root(site: Site) -> None:
    answer = await ask(site, "/")
    assert b"legato" in answer.body.lower()
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_the_console_can_be_left_out() -> None:
    async with serving(work=False, console=False) as site:
        answer = await ask(site, "/")
        assert (answer.status, answer.body) == (404, b"Not Found")


async def test_how_much_memory_a_process_has_is_told(site: Site) -> None:
    seen = json.loads((await ask(site, "/v1/cluster")).body)
    for record in (*seen["gateways"], *seen["workers"]):
        assert 10e6 < record["memory_bytes"] < 10e9


async def test_nothing_tells_what_the_server_is_made_of(site: Site) -> None:
    assert "server" not in (await ask(site, "/healthz")).headers


async def test_who_serves_is_listed_and_gone_when_it_ends() -> None:
    async with serving() as site:
        seen = json.loads((await ask(site, "/v1/cluster")).body)
        assert [record["role"] for record in seen["gateways"]] == ["gateway"]
        assert [record["role"] for record in seen["workers"]] == ["worker"]
        await site.server.stop(drain=False)
        await site.worker.stop()
        assert await site.bus.registry.kinds("default") == {"engine"}


async def test_the_client_of_a_forgotten_stream_is_told_and_others_go_on(
    site: Site, bystander: Peer
) -> None:
    async with site.peer() as peer:
        started = await peer.start("echo")
        answer = await ask(site, f"/v1/streams/{started['stream_id']}", "DELETE")
        assert answer.status == 200
        assert json.loads(answer.body)["erased"]["streams"] == 1
        await peer.error("session_expired")
        await eventually(lambda: site.server.open_streams == site.worker.active_jobs == 1)
    again = await ask(site, f"/v1/streams/{started['stream_id']}", "DELETE")
    assert set(json.loads(again.body)["erased"].values()) == {0}
