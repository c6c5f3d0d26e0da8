import pytest
from starlette.requests import Request

from legato.errors import Forbidden
from legato.gateway.access import Access, bearer
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import DEFAULT_TENANT, Identity, anyone

HERE = ("127.0.0.1", 5)
ELSEWHERE = ("203.0.113.9", 5)
OWN = "127.0.0.1:8440"


def request(client: tuple[str, int] | None = HERE, **headers: str) -> Request:
    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    return Request({"type": "http", "headers": pairs, "client": client})


def access(*, proven: bool = False, **settings: str) -> Access:
    config = GatewayConfig(**settings)  # type: ignore[arg-type]  # fields by name
    return Access(config, (lambda *_: Identity("acme", proven=True)) if proven else anyone)


def test_who_asks_from_this_machine_may_change_and_see_what_is_private() -> None:
    asked = request(host=OWN)
    assert access().check_change(asked).tenant == DEFAULT_TENANT
    assert access().check_private(asked).tenant == DEFAULT_TENANT


@pytest.mark.parametrize("client", [ELSEWHERE, None])
def test_without_a_key_nobody_else_may(client: tuple[str, int] | None) -> None:
    with pytest.raises(Forbidden, match="from the server's machine alone"):
        access().check_change(request(client))
    assert access(proven=True).check_change(request(client)).tenant == "acme"


def test_pages_of_strangers_may_not() -> None:
    with pytest.raises(Forbidden, match="allowed_origins"):
        access().check_change(request(origin="https://evil.example", host=OWN))
    access().check_change(request(origin=f"http://{OWN}", host=OWN))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8440", "", "[::1"])
def test_what_is_private_is_told_at_this_machine_s_own_address_alone(host: str) -> None:
    with pytest.raises(Forbidden, match="own address"):
        access().check_private(request(host=host))
    access(host="0.0.0.0").check_private(request(host=host))
    access(proven=True).check_private(request(host=host))


@pytest.mark.parametrize("host", ["localhost:8440", "[::1]:8440", "127.0.0.2"])
def test_all_of_this_machine_s_addresses_are_its_own(host: str) -> None:
    access().check_private(request(host=host))


@pytest.mark.parametrize(
    ("header", "key"),
    [("Bearer a b", "a b"), ("bearer  x ", "x"), ("Basic x", None), ("Bearer", None), ("", None)],
)
def test_a_key_is_shown_as_a_bearer(header: str, key: str | None) -> None:
    assert bearer({"authorization": header}) == key
