"""One HTTP request and its answer, piece by piece; each phase with a time-out of its own.

The standard library's client: it alone lets a thread that waits for the first byte be stopped,
and a time-out change between two reads. Each request has a connection of its own.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Timer
from typing import Final
from urllib.parse import urlsplit

from legato.engines.upstream.cancellation import Cancellation
from legato.engines.upstream.faults import Fault, Kind, of_status
from legato.engines.upstream.secret import Secret

PIECE_BYTES: Final = 16_384
MAX_SAID_BYTES: Final = 8_192
"""Bytes of an answer that is no audio which are looked at."""

LEAST: Final = 0.001
"""Seconds of a time-out whose instant has come: 0 would mean not to wait at all."""

OK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked.

    Attributes:
        method: Of HTTP.
        url: Absolute.
        headers: Without the key.
        body: None for none.
        secret: The key.
    """

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    secret: Secret = field(default_factory=Secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When waiting ends.

    Attributes:
        connect: Seconds until there is a connection.
        deadline: Instant (`time.monotonic`) by which the first byte of the answer's body is due.
        idle: Seconds between two pieces of it.
    """

    connect: float
    deadline: float
    idle: float


class Answer:
    """The answer to a request that an upstream accepted.

    Args:
        response: As far as the headers.
        link: Its connection.
        timing: When waiting ends.
    """

    def __init__(self, response: HTTPResponse, link: socket, timing: Timing) -> None:
        self._response = response
        self._link = link
        self._timing = timing

    @property
    def media_type(self) -> str:
        """Content type without parameters, in lower case; "" where none is given."""
        given = self._response.getheader("Content-Type") or ""
        return given.partition(";")[0].strip().lower()

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes.

        Raises:
            Fault: If nothing comes in time, or the connection breaks before the end.
        """
        self._link.settimeout(_left(self._timing.deadline))
        kind, limit = Kind.SLOW, "first byte"
        while piece := _read(self._response, kind, limit):
            self._link.settimeout(self._timing.idle)
            kind, limit = Kind.STALLED, "more"
            yield piece

    def whole(self, limit_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            Fault: As `pieces`, and if it is longer than `limit_bytes`.
        """
        body = bytearray()
        for piece in self.pieces():
            body += piece
            if len(body) > limit_bytes:
                raise Fault(Kind.BROKEN, f"the upstream's answer is above {limit_bytes} bytes")
        return bytes(body)


@contextmanager
def exchange(request: Request, timing: Timing, cancellation: Cancellation) -> Iterator[Answer]:
    """Ask an upstream; the connection is closed at the end.

    Raises:
        Fault: If it cannot be reached, does not answer in time, or not with status 200.
    """
    connection = _connected(request.url, timing)
    try:
        link: socket = connection.sock
        with cancellation.stopping(lambda: _shut(link)):
            response = _asked(connection, request, timing)
            with response:
                if response.status != OK:
                    with _shut_at(timing.deadline, link):
                        raise _refused(response, request.secret)
                yield Answer(response, link, timing)
    finally:
        connection.close()


def _connected(url: str, timing: Timing) -> HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection = (
        HTTPSConnection(host, parts.port, context=ssl.create_default_context())
        if parts.scheme == "https"
        else HTTPConnection(host, parts.port)
    )
    connection.timeout = min(timing.connect, _left(timing.deadline))
    try:
        connection.connect()
    except ssl.SSLCertVerificationError as error:
        raise Fault(
            Kind.UNREACHABLE, f"the upstream's certificate is not valid: {error.verify_message}"
        ) from error
    except OSError as error:
        raise Fault(
            Kind.UNREACHABLE, f"the upstream cannot be reached ({type(error).__name__})"
        ) from error
    return connection


def _asked(connection: HTTPConnection, request: Request, timing: Timing) -> HTTPResponse:
    parts = urlsplit(request.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Connection": "close", **request.headers, **request.secret.bearer()}
    connection.sock.settimeout(_left(timing.deadline))
    try:
        with _shut_at(timing.deadline, connection.sock) as is_over:
            connection.request(request.method, path, request.body, headers)
            response = connection.getresponse()
    except (OSError, HTTPException) as error:
        if isinstance(error, TimeoutError) or is_over():
            raise Fault(Kind.SLOW, "the upstream did not begin to answer in time") from error
        raise _broken(error) from error
    if is_over():  # what came of the header looks whole
        response.close()
        raise Fault(Kind.SLOW, "the upstream did not begin to answer in time")
    return response


def _read(response: HTTPResponse, kind: Kind, limit: str) -> bytes:
    """Return the next piece, b"" at the end."""
    try:
        piece = response.read1(PIECE_BYTES)
    except TimeoutError as error:
        raise Fault(kind, f"the upstream did not send its {limit} in time") from error
    except (OSError, HTTPException, ValueError) as error:
        raise _broken(error) from error
    if not piece and response.length:
        raise Fault(Kind.BROKEN, "the upstream's answer is shorter than it says")
    return piece


def _broken(error: Exception) -> Fault:
    return Fault(Kind.BROKEN, f"the upstream's answer broke off ({type(error).__name__})")


def _refused(response: HTTPResponse, secret: Secret) -> Fault:
    said = b""
    with suppress(OSError, HTTPException):
        said = response.read(MAX_SAID_BYTES)
    text = secret.scrubbed(said.decode("utf-8", "replace"))
    return of_status(
        response.status, text, retry_after=retry_after(response.getheader("Retry-After"))
    )


def retry_after(given: str | None, *, now: float | None = None) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, 10.2.3), None without a usable one.

    Args:
        given: Seconds, or a date.
        now: Seconds since the epoch; None reads the clock.
    """
    if not given:
        return None
    with suppress(ValueError, OverflowError):
        seconds = float(given)
        return seconds if 0 <= seconds < float("inf") else None
    try:
        date = parsedate_to_datetime(given)
        return max(0.0, date.timestamp() - (time.time() if now is None else now))
    except (ValueError, OverflowError):
        return None


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), LEAST)


@contextmanager
def _shut_at(deadline: float, link: socket) -> Iterator[Callable[[], bool]]:
    """Shut a connection at an instant; gives what tells whether it was.

    A socket's own time-out begins anew with each byte.
    """
    over = Event()

    def end() -> None:
        over.set()
        _shut(link)

    timer = Timer(_left(deadline), end)
    timer.daemon = True
    timer.start()
    try:
        yield over.is_set
    finally:
        timer.cancel()


def _shut(link: socket) -> None:
    with suppress(OSError):
        link.shutdown(SHUT_RDWR)
