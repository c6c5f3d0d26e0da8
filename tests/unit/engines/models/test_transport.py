import email.message
import email.utils
import io
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPMessage

import pytest

from legato.engines.models.faults import Hiccup, HubBroken, HubRefused, ModelNotFound
from legato.engines.models.transport import Transport, _fault, _listing, _Redirects
from tests.unit.engines.models.conftest import Site


def http_error(code: int, retry_after: str | None = None) -> urllib.error.HTTPError:
    headers = email.message.Message()
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    return urllib.error.HTTPError("http://hub/x", code, "so", headers, io.BytesIO())


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (408, Hiccup),
        (429, Hiccup),
        (500, Hiccup),
        (503, Hiccup),
        (404, ModelNotFound),
        (410, ModelNotFound),
        (401, HubRefused),
        (403, HubRefused),
        (400, HubBroken),
        (416, HubBroken),
        (501, HubBroken),
    ],
)
def test_an_answer_tells_whether_another_try_helps(code: int, kind: type[Exception]) -> None:
    fault = _fault("hub", http_error(code))
    assert type(fault) is kind
    assert str(fault) == f"hub answered {code} so"


def test_a_hub_says_in_seconds_or_by_date_when_to_come_back() -> None:
    later = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    past = email.utils.format_datetime(datetime.now(UTC) - timedelta(seconds=100), usegmt=True)
    told = {
        "7": 7.0,
        past: 0.0,
        past.replace("GMT", "-0000"): 0.0,
        "soon": None,
        "\u00b2": None,
        None: None,
    }
    for retry_after, seconds in told.items():
        fault = _fault("hub", http_error(429, retry_after))
        assert isinstance(fault, Hiccup)
        assert fault.retry_after == seconds
    by_date = _fault("hub", http_error(503, later))
    assert isinstance(by_date, Hiccup)
    assert by_date.retry_after is not None
    assert 90 < by_date.retry_after <= 100


@pytest.mark.parametrize("place", ["http://cdn/x", "ftp://cdn/x", "file:///etc/passwd"])
def test_a_hub_behind_tls_leads_nowhere_without(place: str) -> None:
    request = urllib.request.Request("https://hub/x")
    with pytest.raises(HubBroken, match="hub redirects to"):
        _Redirects().redirect_request(
            request,
            io.BytesIO(),
            302,
            "Found",
            HTTPMessage(),
            place,
        )


@pytest.mark.parametrize(("place", "kept"), [("https://hub/y", True), ("https://cdn/y", False)])
def test_only_the_hub_itself_sees_the_token_again(place: str, kept: bool) -> None:
    headers = {"Authorization": "Bearer s", "Cookie": "m=s", "Range": "bytes=5-"}
    request = urllib.request.Request("https://hub/x", headers=headers)
    led = _Redirects().redirect_request(
        request,
        io.BytesIO(),
        302,
        "Found",
        HTTPMessage(),
        place,
    )
    assert led is not None
    assert led.has_header("Range")
    assert led.has_header("Authorization") is led.has_header("Cookie") is kept


@pytest.mark.integration
def test_what_is_no_hub_is_told(site: Site) -> None:
    site.hub.files["lark/bird"]["page.html"] = b"<html>"
    url = f"{site.hub.url}/lark/bird/resolve/main/page.html"
    with pytest.raises(HubBroken, match="answered no JSON; is it a hub"):
        Transport(5.0).read_json(url, {})


def test_a_host_that_is_not_there_may_come_back() -> None:
    with pytest.raises(Hiccup, match=r"127\.0\.0\.1:1 cannot be reached \(Connection refused\)"):
        Transport(5.0).open("http://127.0.0.1:1/x", {})


@pytest.mark.integration
def test_json_too_deep_to_be_read_is_no_listing(site: Site) -> None:
    site.hub.files["lark/bird"]["page.html"] = b"[" * 200_000
    with pytest.raises(HubBroken, match="answered no JSON; is it a hub"):
        Transport(5.0).read_json(f"{site.hub.url}/lark/bird/resolve/main/page.html", {})


class FakeAnswer:
    """Gives byte by byte, without end."""

    def read1(self, _: int) -> bytes:
        return b" "


def test_a_listing_that_comes_byte_by_byte_is_given_up() -> None:
    with pytest.raises(TimeoutError, match="not whole within 120 s"):
        _listing(FakeAnswer(), time.monotonic())  # type: ignore[arg-type]  # all that is used of it


@pytest.mark.parametrize("place", ["http://[::1", f"http://{'a' * 80}.com/"])
def test_a_redirect_to_what_is_no_address_is_told(place: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(65_536)
                head = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
                client.sendall(head.encode())

        hub = threading.Thread(target=answer)
        hub.start()
        with pytest.raises(HubBroken, match="leads to no address"):
            Transport(5.0).open(f"http://127.0.0.1:{port}/x", {})
        hub.join(5.0)
