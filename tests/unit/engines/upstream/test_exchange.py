import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

import pytest

from legato.engines.upstream.cancellation import Cancellation
from legato.engines.upstream.exchange import Request, Timing, exchange, retry_after
from legato.engines.upstream.faults import Fault, Kind
from tests.standins.upstream.web import Asked, Trouble, Web, unused_port


class Echo(Web):
    def reply(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        return 200, "Text/Plain; charset=utf-8", [b"x" * 10_000]


@pytest.fixture
def web() -> Iterator[Echo]:
    with closing(Echo()) as web:
        yield web


def timing(first: float = 5.0, idle: float = 5.0) -> Timing:
    return Timing(connect=2.0, deadline=time.monotonic() + first, idle=idle)


def fetch(url: str, when: Timing | None = None, limit_bytes: int = 100_000) -> bytes:
    request = Request(url=url, method="GET")
    with exchange(request, when or timing(), Cancellation()) as answer:
        assert answer.media_type == "text/plain"
        return answer.whole(limit_bytes)


def test_the_whole_body_comes(web: Echo) -> None:
    assert fetch(f"{web.url}/a?b=c") == b"x" * 10_000
    assert web.asked[0].path == "/a?b=c"


def test_an_answer_that_is_too_long_is_given_up(web: Echo) -> None:
    with pytest.raises(Fault, match="above 9000 bytes"):
        fetch(web.url, limit_bytes=9_000)


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Trouble(pause=1.0), Kind.SLOW),
        (Trouble(stall_after=4_001, stall=1.0), Kind.STALLED),
        (Trouble(reset_after=4_001), Kind.BROKEN),
        (Trouble(status=503, said=b"later"), Kind.BUSY),
    ],
)
def test_each_phase_has_its_fault(trouble: Trouble, kind: Kind, web: Echo) -> None:
    web.troubles.append(trouble)
    with pytest.raises(Fault) as caught:
        fetch(web.url, timing(first=0.3, idle=0.3))
    assert caught.value.kind is kind


def test_where_nothing_listens_it_is_unreachable() -> None:
    with pytest.raises(Fault) as caught:
        fetch(f"http://127.0.0.1:{unused_port()}")
    assert caught.value.kind is Kind.UNREACHABLE


def test_a_server_without_tls_is_unreachable_by_https(web: Echo) -> None:
    with pytest.raises(Fault) as caught:
        fetch(f"https://127.0.0.1:{web.port}")
    assert caught.value.kind is Kind.UNREACHABLE


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-1", None),
        ("inf", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(given: str | None, seconds: float | None) -> None:
    assert retry_after(given, now=60.0) == seconds


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", Kind.SLOW),
        (b"HTTP/1.1 ", Kind.SLOW),
        (b"HTTP/1.1 503 No\r\nContent-Length: 8000\r\n\r\n", Kind.BUSY),
    ],
)
def test_an_answer_that_drips_is_not_waited_for(head: bytes, kind: Kind) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        upstream = threading.Thread(target=_drip, args=(listening, head))
        upstream.start()
        with pytest.raises(Fault) as caught:
            fetch(f"http://127.0.0.1:{listening.getsockname()[1]}", timing(first=0.5))
        upstream.join(5.0)
    assert caught.value.kind is kind
    assert not upstream.is_alive()


def _drip(listening: socket.socket, head: bytes) -> None:
    """Send a byte each 0.05 s after `head`, for at most 200 of them, until nobody takes it."""
    client, _ = listening.accept()
    with client, suppress(OSError):
        client.recv(65_536)
        client.sendall(head)
        for _ in range(200):
            time.sleep(0.05)
            client.sendall(b"a")
