import asyncio
import socket
from pathlib import Path

import pytest

from legato.gateway.app import Gateway as App
from legato.gateway.catalog import Catalog
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import anyone
from legato.gateway.server import BadCertificate, CannotListen, PortInUse, bind, uvicorn_config
from tests.unit.gateway.stage import Gateway


def test_a_free_port_is_taken() -> None:
    with bind("127.0.0.1", 0) as listening:
        assert listening.getsockname()[1] > 0
        assert not listening.getblocking()


def test_a_port_in_use_is_named() -> None:
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {port} on 127.0.0.1") as caught:
            bind("127.0.0.1", port)
    assert "another program or by a Legato that was told to stop" in caught.value.message


def test_a_port_is_free_again_at_once() -> None:
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            listening.accept()[0].close()
    bind("127.0.0.1", port).close()


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_that_is_not_here_is_named(host: str) -> None:
    with pytest.raises(CannotListen, match=host):
        bind(host, 0)


async def made(**settings: str) -> None:
    gateway = Gateway()
    clock = asyncio.get_running_loop().time
    config = GatewayConfig(port=0, **settings)  # type: ignore[arg-type]  # strings, all of them
    app = App(
        config,
        streams=gateway.streams,
        catalog=Catalog(gateway.bus.registry, clock),
        identify=anyone,
        clock=clock,
    )
    uvicorn_config(config, app)


async def test_a_key_alone_is_refused() -> None:
    with pytest.raises(BadCertificate, match="--tls-cert"):
        await made(tls_key="key.pem")


async def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for path in (empty, tmp_path / "missing.pem"):
        with pytest.raises(BadCertificate, match=path.name):
            await made(tls_cert=str(path), tls_key=str(path))


async def test_without_a_certificate_there_is_no_tls() -> None:
    await made()
