from pathlib import Path

import pytest

from legato.client.config import DEFAULT_URL, ClientConfig
from legato.errors import ConnectionLost
from legato.flow.backoff import ARTICLES, INTERACTIVE, Profile


@pytest.mark.parametrize(
    ("url", "address", "http_base"),
    [
        (DEFAULT_URL, "ws://127.0.0.1:8440/v1/stream", "http://127.0.0.1:8440/v1"),
        ("example.com", "ws://example.com/v1/stream", "http://example.com/v1"),
        ("example.com:1/", "ws://example.com:1/v1/stream", "http://example.com:1/v1"),
        ("https://example.com", "wss://example.com/v1/stream", "https://example.com/v1"),
        ("wss://a.b/speech/v1/stream", "wss://a.b/speech/v1/stream", "https://a.b/speech/v1"),
        ("ws://[::1]:9", "ws://[::1]:9/v1/stream", "http://[::1]:9/v1"),
    ],
)
def test_an_address_is_completed(url: str, address: str, http_base: str) -> None:
    config = ClientConfig(url=url)

    assert (config.address, config.http_base) == (address, http_base)
    assert config.is_secure == address.startswith("wss")


@pytest.mark.parametrize("url", ["", "ftp://a", "ws://", "ws://:80", "ws://a:b", "ws://a:99999"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConnectionLost, match="no address of a server"):
        _ = ClientConfig(url=url).address


@pytest.mark.parametrize(
    ("url", "local"),
    [("localhost:1", True), ("127.0.0.2", True), ("ws://[::1]", True), ("ws://10.0.0.1", False)],
)
def test_this_machine_is_known(url: str, local: bool) -> None:
    assert ClientConfig(url=url).is_local is local


def test_arguments_become_settings() -> None:
    config = ClientConfig.of("ws://a", key="k", ca_file="ca.pem", pool_size=2, rate=2.0, burst=1.0)

    assert config == ClientConfig(
        url="ws://a", key="k", ca_file=Path("ca.pem"), pool_size=2, rate=2.0, burst=1.0
    )
    assert ClientConfig.of("ws://a") == ClientConfig(url="ws://a")


@pytest.mark.parametrize(
    "wrong", [{"pool_size": 0}, {"rate": 0.0}, {"burst": 0.0}, {"reconnect": "often"}]
)
def test_values_out_of_range_are_refused(wrong: dict[str, float | str]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ClientConfig(**wrong)  # type: ignore[arg-type]  # a test's table


def test_a_lost_connection_is_sought_as_the_profile_says() -> None:
    own = Profile(base=0.1, cap=1.0)

    assert ClientConfig().profile is INTERACTIVE
    assert ClientConfig(reconnect="articles").profile is ARTICLES
    assert ClientConfig(reconnect=own).profile is own
    assert ClientConfig(reconnect="never").profile is None
    assert ClientConfig(reconnect=None).profile is None
