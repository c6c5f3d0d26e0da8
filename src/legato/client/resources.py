"""What a server answers over HTTP, beside its WebSocket."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from legato.client.config import ClientConfig
from legato.client.dialing import authorization, reason, tls_context, tls_fault
from legato.errors import ConnectionLost, LegatoError
from legato.protocol.faults import from_wire

MAX_ANSWER_BYTES: Final = 4 << 20


def request(
    config: ClientConfig,
    name: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    media_type: str = "",
    timeout: float | None = None,
) -> bytes:
    """Ask for a resource and return the answer; blocks.

    Args:
        config: Of the server.
        name: What goes behind its `/v1/`.
        method: Of HTTP.
        body: What is sent with it.
        media_type: Of `body`.
        timeout: Seconds to wait for each piece of the answer; None is `config.connect_timeout`.

    Raises:
        ConnectionLost: If the server cannot be reached or is no Legato server.
        LegatoError: What the server says is wrong, as the class of its code.
    """
    url = f"{config.http_base}/{name}"
    handlers: list[urllib.request.BaseHandler] = []
    if config.is_local:
        handlers.append(urllib.request.ProxyHandler({}))
    if config.is_secure:
        handlers.append(urllib.request.HTTPSHandler(context=tls_context(config)))
    headers = {**authorization(config), **({"Content-Type": media_type} if media_type else {})}
    asked = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310  (http or https only: http_base)
    try:
        with urllib.request.build_opener(*handlers).open(
            asked, timeout=timeout or config.connect_timeout
        ) as answer:
            answered: bytes = answer.read(MAX_ANSWER_BYTES)
            return answered
    except urllib.error.HTTPError as error:
        raise _refusal(url, error) from error
    except urllib.error.URLError as error:
        cause = error.reason if isinstance(error.reason, Exception) else error
        if isinstance(cause, ssl.SSLError):
            raise ConnectionLost(tls_fault(config, cause)) from error
        raise ConnectionLost(f"{url} cannot be reached ({reason(cause)})") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionLost(f"{url} cannot be read ({reason(error)})") from error


def read_object(
    config: ClientConfig,
    name: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    media_type: str = "",
    timeout: float | None = None,
) -> Mapping[str, Any]:
    """Ask for a resource that is a JSON object; arguments and errors are those of `request`."""
    answered = request(
        config, name, method=method, body=body, media_type=media_type, timeout=timeout
    )
    try:
        answer = json.loads(answered)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ConnectionLost(f"{config.http_base}/{name} is not from a Legato server")
    return answer


def _refusal(url: str, error: urllib.error.HTTPError) -> LegatoError:
    """Return what the server says is wrong, if it says so in our words."""
    try:
        told = json.loads(error.read(MAX_ANSWER_BYTES))["error"]
        code, message = str(told["code"]), str(told["message"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return ConnectionLost(f"{url} answered {error.code}: {error.reason}")
    return from_wire(code, message)
