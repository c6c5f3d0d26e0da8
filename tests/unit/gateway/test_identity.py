import pytest

from legato.gateway.identity import DEFAULT_TENANT, anyone, is_loopback, is_origin_allowed

HERE = {"host": "127.0.0.1:8440"}


def test_anyone_is_the_default_tenant() -> None:
    assert anyone({}, "whatever").tenant == DEFAULT_TENANT


def test_a_program_sends_no_origin() -> None:
    assert is_origin_allowed(HERE, (), loopback=True)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8440", "127.0.0.1:8440"),
        ("https://127.0.0.1:8440", "127.0.0.1:8440"),
        ("http://LocalHost:8440", "localhost:8440"),
        ("http://[::1]:8440", "[::1]:8440"),
        ("http://app.localhost:8440", "app.localhost:8440"),
    ],
)
def test_a_page_of_this_host_and_port_may_connect(origin: str, host: str) -> None:
    assert is_origin_allowed({"origin": origin, "host": host}, (), loopback=True)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1:8441",
        "http://127.0.0.1",
        "http://127.0.0.1:8440.evil.example",
        "http://127.0.0.1:8440@evil.example",
        "http://evil.example/127.0.0.1:8440",
        "file://127.0.0.1:8440",
        "//127.0.0.1:8440",
        "127.0.0.1:8440",
        "http://[",
    ],
)
@pytest.mark.parametrize("loopback", [True, False])
def test_another_page_may_not(origin: str, loopback: bool) -> None:
    assert not is_origin_allowed({**HERE, "origin": origin}, (), loopback=loopback)


def test_a_name_that_was_made_to_point_here_is_no_loopback() -> None:
    headers = {"origin": "http://evil.example:8440", "host": "evil.example:8440"}
    assert not is_origin_allowed(headers, (), loopback=True)
    assert is_origin_allowed(headers, (), loopback=False)
    assert is_origin_allowed(headers, ("http://evil.example:8440",), loopback=True)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://app.example", True),
        ("https://APP.example", False),
        ("https://app.example:443", False),
        ("http://app.example", False),
        ("https://app.example.evil.example", False),
        ("https://sub.app.example", False),
    ],
)
def test_named_origins_match_exactly(origin: str, allowed: bool) -> None:
    headers = {**HERE, "origin": origin}
    assert is_origin_allowed(headers, ("https://app.example",)) is allowed


def test_an_authority_that_cannot_be_read_is_not_allowed() -> None:
    assert not is_origin_allowed({"origin": "http://[", "host": "["}, (), loopback=True)


def test_without_a_host_nothing_is_the_same() -> None:
    assert not is_origin_allowed({"origin": "http://127.0.0.1:8440"}, (), loopback=True)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
    ],
)
def test_what_always_means_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
