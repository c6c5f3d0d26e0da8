import pytest

from legato.engines.upstream.config import Upstreams, check_urls, configured
from legato.errors import EngineUnavailable


def test_an_option_that_is_none_is_named() -> None:
    with pytest.raises(EngineUnavailable, match=r"lark: .*colour.*docs/upstreams\.md"):
        configured("lark", Upstreams, {"colour": "red"})


def test_a_key_cannot_be_written_into_the_settings() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        configured("lark", Upstreams, {"key": "sk-1"})
    assert "sk-1" not in caught.value.message


def test_slots_are_those_of_all_upstreams() -> None:
    config = configured("lark", Upstreams, {"urls": ["http://a", "http://b"], "streams": 3})
    assert config.slots == 6


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("a:50000", "no address"),
        ("ftp://a", "no address"),
        ("http://", "no address"),
        ("http://a:99999", "no address"),
        ("http://user:secret@a", "password"),
    ],
)
def test_an_address_that_is_none_is_told_without_repeating_it(url: str, said: str) -> None:
    config = Upstreams(urls=("http://good", url))
    with pytest.raises(EngineUnavailable, match=f"number 2 of urls .*{said}") as caught:
        check_urls("lark", config, ("http",), "http://example")
    assert "secret" not in caught.value.message


def test_without_addresses_an_example_is_shown() -> None:
    with pytest.raises(EngineUnavailable, match="http://example"):
        check_urls("lark", Upstreams(), ("http",), "http://example")


def test_waiting_stays_below_the_time_after_which_a_worker_takes_an_engine_for_stuck() -> None:
    from legato.worker.config import WorkerConfig

    config, most = Upstreams(), WorkerConfig().engine_timeout
    assert max(config.give_up_after, config.idle_timeout) < most
