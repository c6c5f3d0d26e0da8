"""HTTP to a hub: redirects to its CDN without our token, and failures told apart."""

from __future__ import annotations

import email.utils
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any, Final
from urllib.parse import urlsplit

from legato.engines.models.faults import Hiccup, HubBroken, HubRefused, ModelNotFound

MAX_LISTING_BYTES: Final = 32 << 20
BLOCK_BYTES: Final = 64 << 10
LISTING_TIMEOUT: Final = 120.0
"""Seconds for a whole listing, which takes one or two; each piece has its own bound besides."""

USER_AGENT: Final = "legato-speech"
SECRET_HEADERS: Final = frozenset({"authorization", "cookie"})
TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to another host without what only the hub may see, and never from TLS to none."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the request of the new place."""
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in {"http", "https"} or (old.scheme == "https" != new.scheme):
            raise HubBroken(f"{old.hostname} redirects to {new.scheme}://{new.hostname}")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and (old.scheme, old.netloc) != (new.scheme, new.netloc):
            for name in [name for name in request.headers if name.lower() in SECRET_HEADERS]:
                request.remove_header(name)
        return request


class Transport:
    """Asks hubs; proxies are those of the environment.

    Args:
        timeout: Seconds that a server may be silent.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_Redirects())

    def open(self, url: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Ask for `url`; the answer's body is read by the caller, who closes it.

        Raises:
            Hiccup: If another try may do better.
            ModelNotFound: If there is no such thing.
            HubRefused: If it is not for us.
            HubBroken: If the answer makes no sense.
        """
        request = urllib.request.Request(  # noqa: S310  (http or https: checked where it is set)
            url, headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers}
        )
        host = urlsplit(url).netloc
        try:
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=self._timeout)
            return answer
        except urllib.error.HTTPError as error:
            with error:
                raise _fault(host, error) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                raise HubBroken(
                    f"the certificate of {host} is not valid: {error.reason}"
                ) from error
            raise Hiccup(f"{host} cannot be reached ({_said(error.reason)})") from error
        except (OSError, http.client.HTTPException) as error:
            raise Hiccup(f"{host} cannot be read ({_said(error)})") from error
        except ValueError as error:  # a redirect to what is no address
            raise HubBroken(f"{host} leads to no address ({_said(error)})") from error

    def read_json(self, url: str, headers: Mapping[str, str]) -> Any:
        """Ask for JSON.

        Raises:
            Hiccup: If another try may do better.
            ModelNotFound: If there is no such thing.
            HubRefused: If it is not for us.
            HubBroken: If the answer is no JSON.
        """
        with self.open(url, headers) as answer:
            try:
                body = _listing(answer, time.monotonic() + LISTING_TIMEOUT)
            except (OSError, http.client.HTTPException) as error:
                raise Hiccup(f"{urlsplit(url).netloc} broke off ({_said(error)})") from error
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise HubBroken(f"{urlsplit(url).netloc} answered no JSON; is it a hub?") from error


def _listing(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """Read what is no longer than a listing may be, and not slower than one.

    Raises:
        TimeoutError: If it is not whole in time.
    """
    body = bytearray()
    while len(body) <= MAX_LISTING_BYTES and (block := answer.read1(BLOCK_BYTES)):
        body += block
        if time.monotonic() >= deadline:
            raise TimeoutError(f"not whole within {LISTING_TIMEOUT:g} s")
    return bytes(body)


def _fault(host: str, error: urllib.error.HTTPError) -> Exception:
    said = f"{host} answered {error.code} {error.reason}"
    if error.code in TRANSIENT:
        return Hiccup(said, _retry_after(error.headers.get("Retry-After")))
    if error.code in {404, 410}:
        return ModelNotFound(said)
    if error.code in {401, 403}:
        return HubRefused(said)
    return HubBroken(said)


def _retry_after(told: str | None) -> float | None:
    """Read Retry-After: seconds or a date (RFC 9110, 10.2.3)."""
    if told is None:
        return None
    if told.strip().isdecimal():
        return float(told)
    try:
        when = email.utils.parsedate_to_datetime(told)
    except ValueError:
        return None
    if when.tzinfo is None:  # "-0000": in UTC, from nowhere in particular
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _said(reason: object) -> str:
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
