"""TLS at the gateway: what an attacker, a slow client and a wrong file do to it."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import connect

from legato.bus.memory import MemoryBus
from legato.gateway.config import GatewayConfig
from legato.gateway.server import BadCertificate, PortInUse, Server
from tests.integration.gateway.wire import FRAME, Plain, Site, eventually, serving

pytestmark = [
    pytest.mark.integration,
    pytest.mark.requires("openssl"),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return str(certificate), str(key)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(files: tuple[str, str]) -> AsyncIterator[Site]:
    certificate, key = files
    async with serving(tls_cert=certificate, tls_key=key, header_timeout=1.0) as site:
        yield site


def trust(certificate: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


async def test_streams_go_over_tls(site: Site, files: tuple[str, str]) -> None:
    async with site.peer(ssl=trust(files[0])) as peer:
        await peer.start("echo")
        await peer.send(FRAME)
        assert (await peer.frames(1))[0].payload == FRAME
        await peer.say("stop", stream=1)


async def test_too_large_a_message_is_closed_with_1009(site: Site, files: tuple[str, str]) -> None:
    async with site.peer(ssl=trust(files[0])) as peer:
        await peer.wire.send(bytes(262_145))
        assert (await peer.closed())[0] == 1009


async def test_a_strange_authority_is_refused_by_the_client(site: Site) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        async with connect(site.address):
            pass


async def test_old_versions_of_tls_are_refused(site: Site, files: tuple[str, str]) -> None:
    old = trust(files[0])
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with connect(site.address, ssl=old):
            pass


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"])
async def test_who_does_not_finish_the_handshake_is_not_waited_for(site: Site, said: bytes) -> None:
    async with Plain(site.server.port) as plain:
        began = time.monotonic()
        await plain.send(said)
        await plain.read_all()
        assert time.monotonic() - began < 3.0


async def test_who_does_not_read_is_dropped(files: tuple[str, str]) -> None:
    certificate, key = files
    async with serving(tls_cert=certificate, tls_key=key, slow_timeout=0.5) as site:
        narrow = socket.create_connection(("127.0.0.1", site.server.port))
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        async with connect(
            site.address,
            sock=narrow,
            ssl=trust(certificate),
            server_hostname="127.0.0.1",
            compression=None,
            max_queue=1,
            ping_interval=None,
        ) as wire:
            for message in (
                '{"type":"hello","version":1}',
                '{"type":"stream_start","stream":1,"stream_id":"slow","task":"synthesize"}',
                '{"type":"flow_control","rate":1000}',
                '{"type":"text","stream":1,"seq":0,"text":"%s"}' % ("never ending " * 1500),
                '{"type":"finalize","stream":1,"seq":1}',
            ):
                await wire.send(message)
            await eventually(lambda: site.server.open_connections == 0)
            wire.transport.abort()


async def test_a_stop_does_not_wait_for_who_does_not_answer(files: tuple[str, str]) -> None:
    certificate, key = files
    async with serving(tls_cert=certificate, tls_key=key) as site:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", site.server.port, ssl=trust(certificate)
        )
        transport: Any = writer.transport
        transport.pause_reading()
        began = time.monotonic()
        await site.server.stop()
        assert time.monotonic() - began < 4.0
        transport.abort()
        with contextlib.suppress(ConnectionError):
            await reader.read()


# what cannot be started


async def started(**settings: object) -> None:
    server = Server(MemoryBus(), GatewayConfig(port=0, **settings))  # type: ignore[arg-type]  # fields by name
    await server.start()
    await server.stop(drain=False)


async def test_a_file_that_is_no_certificate_is_named(
    files: tuple[str, str], tmp_path: Path
) -> None:
    certificate, key = files
    (tmp_path / "empty.pem").write_text("")
    empty, missing = str(tmp_path / "empty.pem"), str(tmp_path / "missing.pem")
    for cert, secret in (
        (empty, key),
        (missing, key),
        (certificate, empty),
        (certificate, missing),
    ):
        with pytest.raises(BadCertificate, match=r"empty\.pem|missing\.pem"):
            await started(tls_cert=cert, tls_key=secret)


async def test_a_port_in_use_is_named(site: Site) -> None:
    server = Server(MemoryBus(), GatewayConfig(port=site.server.port))
    with pytest.raises(PortInUse, match=str(site.server.port)):
        await server.start()


async def test_an_ipv6_address_is_served() -> None:
    async with serving(host="::1") as site:
        assert site.server.url.startswith("ws://[::1]:")
        async with site.peer() as peer:
            await peer.start("echo")
            await peer.say("stop", stream=1)
