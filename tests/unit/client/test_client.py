import inspect
from collections.abc import Callable

import pytest

from legato.client import options
from legato.client.client import Client, connect, fresh_id
from legato.client.config import ClientConfig, ConnectOptions
from legato.errors import ConnectionLost

NOWHERE = "ws://127.0.0.1:1"


def names(function: Callable[..., object]) -> list[str]:
    """The keyword-only parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


@pytest.mark.parametrize(
    ("method", "declared"),
    [
        (Client.speak, options.SpeakOptions),
        (Client.listen, options.ListenOptions),
        (Client.echo, options.EchoOptions),
    ],
)
def test_what_is_passed_on_is_what_can_be_asked_for(
    method: Callable[..., object], declared: type
) -> None:
    assert list(declared.__annotations__) == names(method)


def test_what_connects_is_what_can_be_set() -> None:
    fields = set(ClientConfig.__dataclass_fields__)

    assert set(ConnectOptions.__annotations__) <= fields
    assert connect("ws://a", key="k").config == ClientConfig(url="ws://a", key="k")


def test_stream_ids_are_unique() -> None:
    assert len({fresh_id() for _ in range(100)}) == 100


async def test_nothing_is_connected_before_the_first_use() -> None:
    async with connect(NOWHERE) as client:
        client.speak("Hello.")
        client.voice()
        listening = client.listen(b"")
        with pytest.raises(ConnectionLost, match="legato serve"):
            await anext(listening)
        with pytest.raises(ConnectionLost):
            await anext(client.echo(b""))


async def test_a_closed_client_opens_no_stream() -> None:
    client = connect(NOWHERE)
    await client.close()

    with pytest.raises(ConnectionLost, match="closed"):
        await anext(client.speak("Hello."))


@pytest.mark.parametrize("text", [None, b"bytes"])
async def test_what_is_no_text_is_refused_before_anything_is_asked_for(text: str) -> None:
    async with connect() as client:
        with pytest.raises(TypeError, match="text must be a str"):
            client.speak(text)
