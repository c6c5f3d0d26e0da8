import http.server
import json
import threading
from collections.abc import Iterator

import pytest

from legato.client.catalog import fetch_engines, fetch_voices
from legato.client.config import ClientConfig
from legato.errors import ConnectionLost
from legato.speech import Voice

VOICE = {"name": "low", "engine": "tone", "languages": ["en"], "gender": "male", "new": 1}
ENGINE = {
    "kind": "synthesize",
    "name": "tone",
    "state": "ready",
    "default": True,
    "voices": [VOICE],
}
LOW = Voice(name="low", engine="tone", languages=("en",), gender="male")


class FakeServer(http.server.ThreadingHTTPServer):
    """Answers every GET with what the test wants, and notes what it was asked."""

    answer: bytes = b""
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []

    @property
    def config(self) -> ClientConfig:
        return ClientConfig(url=f"ws://127.0.0.1:{self.server_port}", key="sesame")


class Handler(http.server.BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_engines_are_read_and_what_is_new_is_kept(server: FakeServer) -> None:
    server.answer = json.dumps({"engines": [ENGINE, {"name": "bare"}]}).encode()

    full, bare = fetch_engines(server.config)

    assert (full.kind, full.name, full.state, full.default) == ("synthesize", "tone", "ready", True)
    assert full.voices == (LOW,)
    assert full.facts["voices"][0]["new"] == 1
    assert (bare.state, bare.voices, bare.reason) == ("loading", (), None)
    assert server.asked == [("/v1/engines", "Bearer sesame")]


def test_voices_are_read(server: FakeServer) -> None:
    server.answer = json.dumps({"voices": [VOICE]}).encode()

    assert fetch_voices(server.config) == [LOW]


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"voices": 5}', b'{"voices": [5]}'])
def test_another_server_is_known_by_its_answer(server: FakeServer, answer: bytes) -> None:
    server.answer = answer

    with pytest.raises(ConnectionLost, match="not from a Legato server"):
        fetch_voices(server.config)


def test_entries_without_a_name_are_refused(server: FakeServer) -> None:
    server.answer = b'{"voices": [{}]}'

    with pytest.raises(ConnectionLost, match="without a name"):
        fetch_voices(server.config)


def test_a_refusal_is_told_with_its_status(server: FakeServer) -> None:
    server.status = 503

    with pytest.raises(ConnectionLost, match="503"):
        fetch_engines(server.config)


def test_nobody_there_is_told() -> None:
    with pytest.raises(ConnectionLost, match="Connection refused"):
        fetch_engines(ClientConfig(url="ws://127.0.0.1:1"))


def test_what_the_server_says_is_wrong_is_passed_on(server: FakeServer) -> None:
    server.status = 503
    server.answer = b'{"error": {"code": "bus_unavailable", "message": "no answer"}}'
    with pytest.raises(ConnectionLost, match="answered bus_unavailable: no answer"):
        fetch_engines(server.config)
