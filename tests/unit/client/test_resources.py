import http.server
import threading
from collections.abc import Iterator

import pytest

from legato.client.config import ClientConfig
from legato.client.resources import read_object, request
from legato.errors import BusUnavailable, ConnectionLost, Forbidden


class FakeServer(http.server.ThreadingHTTPServer):
    """Answers what the test wants, and notes what it was asked."""

    answer: bytes = b"{}"
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, str | None]] = []

    @property
    def config(self) -> ClientConfig:
        return ClientConfig(url=f"ws://127.0.0.1:{self.server_port}", key="sesame")


class Handler(http.server.BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def do_DELETE(self) -> None:
        self.do_GET()

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


def test_method_and_key_are_sent(server: FakeServer) -> None:
    server.answer = b'{"erased": {}}'
    assert read_object(server.config, "streams/s1", method="DELETE") == {"erased": {}}
    assert server.asked == [("DELETE", "/v1/streams/s1", "Bearer sesame")]


@pytest.mark.parametrize(
    ("code", "kind"), [("forbidden", Forbidden), ("bus_unavailable", BusUnavailable)]
)
def test_what_the_server_says_is_wrong_has_its_class(
    server: FakeServer, code: str, kind: type[Exception]
) -> None:
    server.status = 403
    server.answer = b'{"error": {"code": "%s", "message": "that is so"}}' % code.encode()
    with pytest.raises(kind, match="that is so"):
        request(server.config, "cluster")


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"error": 1}', b"\xff"])
def test_another_servers_refusal_is_a_lost_connection(server: FakeServer, answer: bytes) -> None:
    server.status, server.answer = 404, answer
    with pytest.raises(ConnectionLost, match="answered 404"):
        request(server.config, "cluster")


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b""])
def test_an_answer_that_is_no_object_is_a_lost_connection(
    server: FakeServer, answer: bytes
) -> None:
    server.answer = answer
    with pytest.raises(ConnectionLost, match="not from a Legato server"):
        read_object(server.config, "cluster")


def test_nobody_there_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        request(ClientConfig(url="ws://127.0.0.1:1"), "cluster")
