"""A WebSocket to an upstream, blocking."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from socket import SHUT_RDWR
from typing import Final

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from legato.engines.upstream.exchange import retry_after
from legato.engines.upstream.faults import Fault, Kind, of_status
from legato.engines.upstream.secret import Secret

MAX_MESSAGE_BYTES: Final = 4 << 20
CLOSE_TIMEOUT: Final = 0.1
"""Seconds that a closing handshake may take: a slot waits for it."""

_QUIET: Final = logging.getLogger("legato.engines.upstream.websocket")
"""The library logs headers, the key among them, and all text at level debug."""
_QUIET.setLevel(logging.WARNING)


class Link:
    """A connection.

    Args:
        connection: Of the library.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return self._connection.state is State.OPEN

    def send(self, message: str | bytes) -> None:
        """Send text or bytes.

        Raises:
            Fault: If the connection is lost.
        """
        try:
            self._connection.send(message)
        except ConnectionClosed as error:
            raise _lost(error) from error

    def receive(self, timeout: float) -> str | bytes | None:
        """Return the next message, None if there is none within `timeout` seconds.

        Raises:
            Fault: If the connection is lost.
        """
        try:
            return self._connection.recv(timeout=max(timeout, 0.0))
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise _lost(error) from error

    def drop(self) -> None:
        """Close without waiting for the other side, which may hang; from any thread."""
        with suppress(OSError):
            self._connection.socket.shutdown(SHUT_RDWR)
        self._connection.close()


def dial(url: str, headers: Mapping[str, str], *, secret: Secret, timeout: float) -> Link:
    """Open a connection.

    Args:
        url: Of the upstream.
        headers: More than the key.
        secret: The key.
        timeout: Seconds, handshake and all.

    Raises:
        Fault: If the upstream cannot be reached, or does not want to.
    """
    try:
        with ExitStack() as stack:
            opening = connect(
                url,
                additional_headers={**headers, **secret.bearer()},
                compression=None,
                logger=_QUIET,
                open_timeout=timeout,
                close_timeout=CLOSE_TIMEOUT,
                max_size=MAX_MESSAGE_BYTES,
            )
            connection = stack.enter_context(opening)
            stack.pop_all()  # it outlives this call
            return Link(connection)
    except InvalidStatus as error:
        answer = error.response
        said = secret.scrubbed((answer.body or b"").decode("utf-8", "replace"))
        after = retry_after(answer.headers.get("Retry-After"))
        raise of_status(answer.status_code, said, retry_after=after) from error
    except (OSError, InvalidHandshake) as error:
        raise Fault(
            Kind.UNREACHABLE, f"the upstream cannot be reached ({type(error).__name__})"
        ) from error


def _lost(error: ConnectionClosed) -> Fault:
    code = error.rcvd.code if error.rcvd is not None else None
    how = "broke off" if code is None else f"was closed with code {code}"
    return Fault(Kind.BROKEN, f"the connection to the upstream {how}")
