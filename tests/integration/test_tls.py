"""`wss`: an authority of one's own, and the switch for tests."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import legato
from legato.errors import ConnectionLost
from tests.integration.processes import TONES, Server, run_legato, running_server

pytestmark = [pytest.mark.integration, pytest.mark.requires("openssl")]


@dataclass(frozen=True)
class Secured:
    """A server with a certificate that only `ca` vouches for."""

    server: Server
    ca: Path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "server.pem", folder / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    flags = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with running_server(*flags, cwd=folder, env=TONES) as server:
        yield Secured(server, certificate)


async def samples(client: legato.Client) -> int:
    async with client:
        return sum([chunk.samples async for chunk in client.speak("Hi.", pace=100)])


async def test_a_server_whose_authority_is_named_is_trusted(secured: Secured) -> None:
    assert secured.server.url.startswith("wss://")
    assert await samples(legato.connect(secured.server.url, ca_file=secured.ca)) == 3 * 1_200

    async with legato.connect(secured.server.url, ca_file=secured.ca) as client:
        assert [voice.name for voice in await client.voices()] == ["tone"]


async def test_an_unknown_authority_is_refused_unless_a_test_says_otherwise(
    secured: Secured,
) -> None:
    with pytest.raises(ConnectionLost, match=r"not trusted.*ca_file"):
        await samples(legato.connect(secured.server.url))
    async with legato.connect(secured.server.url) as client:
        with pytest.raises(ConnectionLost, match="not trusted"):
            await client.voices()

    assert await samples(legato.connect(secured.server.url, insecure=True)) == 3 * 1_200


async def test_an_authority_that_cannot_be_read_is_named(secured: Secured, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")

    for name in ("missing.pem", "empty.pem"):
        with pytest.raises(ConnectionLost, match=name):
            await samples(legato.connect(secured.server.url, ca_file=tmp_path / name))


async def test_a_plain_client_is_told_that_it_was_not_understood(secured: Secured) -> None:
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        await samples(legato.connect(secured.server.url.replace("wss:", "ws:")))


def test_the_command_line_takes_both(secured: Secured, tmp_path: Path) -> None:
    url = secured.server.url
    trusted = run_legato("voices", "--url", url, "--ca-file", str(secured.ca), cwd=tmp_path)
    careless = run_legato("say", "Hi.", "-o", "a.wav", "--url", url, "--insecure", cwd=tmp_path)
    refused = run_legato("say", "Hi.", "-o", "b.wav", "--url", url, cwd=tmp_path)

    assert (trusted.returncode, careless.returncode, refused.returncode) == (0, 0, 4)
    assert b"--ca-file" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
