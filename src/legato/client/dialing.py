"""How a connection is opened: address, TLS, proxy, and what is said when it fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
from websockets.http11 import Response

from legato.client.config import ClientConfig
from legato.errors import ConnectionLost, Forbidden, LegatoError, Unauthenticated
from legato.protocol.messages import MAX_MESSAGE_BYTES
from legato.protocol.version import SUBPROTOCOL

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake; it adds to the time until a half-open link is noticed."""

READ_QUEUE: Final = 64
"""Messages read ahead of the session before the socket is paused."""

NOTSENT_LOWAT_BYTES: Final = 16_384
"""What the kernel takes beyond what is on its way; without it megabytes vanish there unseen."""

_DENIALS: Final[Mapping[int, type[LegatoError]]] = MappingProxyType(
    {401: Unauthenticated, 403: Forbidden}
)
"""Statuses with which the same request will be refused again; all others may pass."""

_TCP_NOTSENT_LOWAT: Final = getattr(socket, "TCP_NOTSENT_LOWAT", 25)


async def dial(config: ClientConfig) -> ClientConnection:
    """Open the WebSocket.

    Raises:
        ConnectionLost: If that fails; the sentence names the cause and the way out.
        AuthError: If the server, or a proxy before it, asks for another key.
    """
    address = config.address
    tls = await asyncio.to_thread(tls_context, config) if config.is_secure else None
    try:
        connection = await connect(
            address,
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]  # a NewType of str
            additional_headers=authorization(config),
            ssl=tls,
            proxy=None if config.is_local else True,
            compression=None,
            open_timeout=config.connect_timeout,
            ping_interval=None,
            close_timeout=CLOSE_TIMEOUT,
            max_size=MAX_MESSAGE_BYTES,
            max_queue=READ_QUEUE,
            write_limit=config.write_buffer_bytes,
        )
    except InvalidStatus as error:
        raise refusal(address, error.response) from error
    except InvalidURI as error:
        raise ConnectionLost(f"{config.url!r} is no WebSocket address: {error}") from error
    except ssl.SSLError as error:
        raise ConnectionLost(tls_fault(config, error)) from error
    except (OSError, InvalidHandshake, EOFError) as error:
        raise ConnectionLost(
            f"{address} cannot be reached ({reason(error)}); is the server running?"
            " `legato serve` starts one"
        ) from error
    if connection.subprotocol != SUBPROTOCOL:
        connection.transport.abort()
        raise ConnectionLost(f"{address} is no Legato server: it does not speak {SUBPROTOCOL}")
    _bound_kernel_buffer(connection)
    return connection


def refusal(address: str, response: Response) -> LegatoError:
    """Return what a server means that answers with something else than a WebSocket."""
    body = (response.body or b"").decode("utf-8", "replace").strip()
    kind = _DENIALS.get(response.status_code, ConnectionLost)
    seconds = response.headers.get("Retry-After", "")
    return kind(
        f"{address} answered {response.status_code}: {body or 'no reason given'}",
        retry_after=float(seconds) if seconds.isdecimal() else None,
    )


def authorization(config: ClientConfig) -> dict[str, str]:
    """Return the header that shows the key, if there is one."""
    return {"Authorization": f"Bearer {config.key}"} if config.key else {}


def tls_context(config: ClientConfig) -> ssl.SSLContext:
    """Return the context of encrypted connections; reads `ca_file`.

    Raises:
        ConnectionLost: If `ca_file` cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
    except ssl.SSLError as error:
        raise ConnectionLost(f"{config.ca_file} holds no certificate in PEM form") from error
    except OSError as error:
        raise ConnectionLost(f"{config.ca_file} cannot be read: {error.strerror}") from error
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def tls_fault(config: ClientConfig, error: ssl.SSLError) -> str:
    """Return a sentence on why TLS failed, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"{config.address} shows a certificate that is not trusted ({error.verify_message});"
            " name its authority with ca_file (--ca-file)"
        )
    return f"{config.address} does not speak TLS as this client does ({reason(error)})"


def reason(error: Exception) -> str:
    """Return a short text for an error of the operating system or of the handshake."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        if error.errno is not None and error.errno > 0:
            return os.strerror(error.errno)
        if error.strerror:
            return error.strerror
    return str(error) or type(error).__name__


def _bound_kernel_buffer(connection: ClientConnection) -> None:
    raw = connection.transport.get_extra_info("socket")
    if raw is None or raw.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    with contextlib.suppress(OSError):  # not every system has it; then buffers are larger
        raw.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES)
