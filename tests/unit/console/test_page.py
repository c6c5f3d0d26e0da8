import gzip
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from legato.console.page import Page, is_known, policy, takes_gzip

SCRIPT = "assets/index-B3xY_z-9.js"
CODE = b"let silence = 0;\n" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>legato</title>" * 9)
    (tmp_path / SCRIPT).write_bytes(CODE)
    (tmp_path / "sample.wav").write_bytes(b"RIFF" + bytes(100))
    return tmp_path


@pytest.fixture
def browser(folder: Path) -> TestClient:
    return TestClient(Starlette(routes=list(Page(folder).routes())))


def plain(**more: str) -> dict[str, str]:
    return {"accept-encoding": "identity", **more}


def test_the_page_is_at_the_root_and_asked_for_anew(browser: TestClient) -> None:
    answer = browser.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert browser.get("/index.html").content == answer.content


def test_what_is_named_by_its_content_is_kept_for_good(browser: TestClient) -> None:
    answer = browser.get(f"/{SCRIPT}")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]


def test_gzip_is_sent_to_who_takes_it(browser: TestClient) -> None:
    with browser.stream("GET", f"/{SCRIPT}", headers={"accept-encoding": "br, gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == CODE
    whole = browser.get(f"/{SCRIPT}", headers=plain())
    assert "content-encoding" not in whole.headers
    assert whole.content == CODE
    assert whole.headers["vary"] == answer.headers["vary"] == "accept-encoding"
    assert whole.headers["etag"] != answer.headers["etag"]


def test_sound_is_sent_as_it_is(browser: TestClient) -> None:
    answer = browser.get("/sample.wav", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-type"] == "audio/wav"
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_what_the_browser_has_is_not_sent_again(browser: TestClient, encoding: str) -> None:
    first = browser.get("/", headers={"accept-encoding": encoding})
    known = {"accept-encoding": encoding, "if-none-match": first.headers["etag"]}
    again = browser.get("/", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-encoding" not in again.headers


def test_a_head_tells_the_length(browser: TestClient) -> None:
    answer = browser.head(f"/{SCRIPT}", headers=plain())
    assert answer.headers["content-length"] == str(len(CODE))


@pytest.mark.parametrize("path", ["/nothing.js", "/assets/nothing.js", "/assets/", "/a/b"])
def test_what_was_not_built_is_not_there(browser: TestClient, path: str) -> None:
    assert browser.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/..%2findex.html", "/assets/..%2f..%2fsecret", "/%2e%2e"])
def test_nothing_outside_the_page_is_read(browser: TestClient, folder: Path, path: str) -> None:
    (folder.parent / "secret").write_text("x")
    assert browser.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/sample.wav", "/nothing.js"])
def test_the_browser_is_told_what_the_page_may_do(browser: TestClient, path: str) -> None:
    headers = browser.get(path, headers={"host": "speech.example:8440"}).headers
    rules = headers["content-security-policy"].split("; ")
    assert rules == [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self' ws://speech.example:8440 wss://speech.example:8440",
        "img-src 'self' data:",
        "media-src 'self' blob:",
        "worker-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["permissions-policy"].startswith("microphone=(self)")


@pytest.mark.parametrize("host", ["", "a b", "a; script-src *", "x" * 300, "a\n"])
def test_a_host_that_is_none_is_not_repeated(host: str) -> None:
    assert "connect-src 'self'; " in policy(host)


def test_an_address_of_version_six_may_be_connected_to() -> None:
    assert "ws://[::1]:8440 " in policy("[::1]:8440")


def test_without_a_page_the_way_to_one_is_told_and_a_later_one_found(tmp_path: Path) -> None:
    browser = TestClient(Starlette(routes=list(Page(tmp_path / "static").routes())))
    answer = browser.get("/")
    assert answer.status_code == 404
    assert "make web" in answer.text
    assert "make web" not in browser.get("/other.js").text
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text("built")
    assert browser.get("/").text == "built"


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip; q=0", False),
        ("gzip;q=0.00", False),
        ("*", True),
        ("*;q=0", False),
        ("br", False),
        ("", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


@pytest.mark.parametrize(
    ("known", "is_it"),
    [('"a"', True), ('"b", W/"a"', True), ("*", True), ('"b"', False), ("", False)],
)
def test_a_known_content_is_recognized(known: str, is_it: bool) -> None:
    assert is_known('"a"', known) is is_it


def test_other_methods_are_refused(browser: TestClient) -> None:
    answer: Any = browser.post("/")
    assert answer.status_code == 405
