import ssl
from pathlib import Path

import pytest

from legato.client.config import ClientConfig
from legato.client.dialing import authorization, reason, tls_context, tls_fault
from legato.errors import ConnectionLost


def test_a_key_is_shown_as_a_bearer() -> None:
    assert authorization(ClientConfig(key="sesame")) == {"Authorization": "Bearer sesame"}
    assert authorization(ClientConfig()) == {}


def test_certificates_are_checked_unless_a_test_says_otherwise() -> None:
    strict = tls_context(ClientConfig(url="wss://a"))
    careless = tls_context(ClientConfig(url="wss://a", insecure=True))

    assert (strict.verify_mode, strict.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (careless.verify_mode, careless.check_hostname) == (ssl.CERT_NONE, False)


def test_an_authority_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")

    with pytest.raises(ConnectionLost, match=r"missing\.pem cannot be read: No such file"):
        tls_context(ClientConfig(ca_file=tmp_path / "missing.pem"))
    with pytest.raises(ConnectionLost, match=r"bad\.pem holds no certificate"):
        tls_context(ClientConfig(ca_file=tmp_path / "bad.pem"))


def test_a_certificate_that_is_not_trusted_has_a_way_out() -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "self-signed certificate"

    assert "--ca-file" in tls_fault(ClientConfig(), error)
    assert "does not speak TLS" in tls_fault(ClientConfig(), ssl.SSLError("WRONG_VERSION_NUMBER"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
        (OSError("all attempts failed"), "all attempts failed"),
        (EOFError(), "EOFError"),
    ],
)
def test_causes_are_short(error: Exception, text: str) -> None:
    assert reason(error) == text
