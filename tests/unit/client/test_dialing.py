import ssl
from pathlib import Path

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Response

from legato.client.config import ClientConfig
from legato.client.dialing import authorization, reason, refusal, tls_context, tls_fault
from legato.errors import ConnectionLost, Forbidden, LegatoError, Unauthenticated


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


@pytest.mark.parametrize(
    ("status", "headers", "kind", "retry_after"),
    [
        (401, {}, Unauthenticated, None),
        (403, {}, Forbidden, None),
        (503, {"Retry-After": "7"}, ConnectionLost, 7.0),
        (503, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, ConnectionLost, None),
        (404, {}, ConnectionLost, None),
    ],
)
def test_an_answer_that_is_no_websocket_says_why(
    status: int, headers: dict[str, str], kind: type[LegatoError], retry_after: float | None
) -> None:
    error = refusal("ws://a", Response(status, "", Headers(headers), b"not now\n"))

    assert type(error) is kind
    assert (error.message, error.retry_after) == (f"ws://a answered {status}: not now", retry_after)


def test_an_answer_without_words_has_no_reason() -> None:
    assert "no reason given" in refusal("ws://a", Response(502, "", Headers())).message
