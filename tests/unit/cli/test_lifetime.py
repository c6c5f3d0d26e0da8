import pytest

from legato.cli.lifetime import example


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("ws://127.0.0.1:8440", ""),
        ("ws://0.0.0.0:8440", ""),
        ("ws://127.0.0.1:8558", " --url ws://127.0.0.1:8558"),
        ("ws://[::]:8440", " --url ws://[::1]:8440"),
        ("wss://0.0.0.0:8440", " --url wss://127.0.0.1:8440"),
    ],
)
def test_the_hint_names_the_address_where_it_must(url: str, option: str) -> None:
    assert example(url) == f'legato say "Hello." -o hello.wav{option}'
