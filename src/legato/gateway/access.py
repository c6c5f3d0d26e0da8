"""Who asks over HTTP, and what he may: look, look at what is private, or change something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from legato.errors import Forbidden
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import Identify, Identity, is_loopback, is_origin_allowed

FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers of a request that a proxy has passed on: its client may be anywhere."""


class Access:
    """Lets requests in or not.

    Args:
        config: Of the gateway.
        identify: Finds out who asks.
    """

    def __init__(self, config: GatewayConfig, identify: Identify) -> None:
        self._config = config
        self._identify = identify

    def identify(self, request: Request) -> Identity:
        """Return who asks.

        Raises:
            AuthError: If he may ask for nothing.
        """
        return self._identify(request.headers, bearer(request.headers))

    def check_change(self, request: Request) -> Identity:
        """Return who wants to change something.

        Raises:
            AuthError: If he may not: without a key only this machine may, and pages of strangers
                may never.
        """
        identity = self.identify(request)
        if not identity.proven and not is_from_here(request):
            raise Forbidden("without a key, this is done from the server's machine alone")
        headers, local = request.headers, is_loopback(self._config.host)
        if not is_origin_allowed(headers, self._config.allowed_origins, loopback=local):
            raise Forbidden("pages of this origin may not do this; see allowed_origins")
        return identity

    def check_private(self, request: Request) -> Identity:
        """Return who wants to see or hear what is somebody's own.

        A page that reads from its own address sends no origin. So where only this machine is
        served, the address must be one that always means it (DNS rebinding).

        Raises:
            AuthError: If he may not.
        """
        identity = self.check_change(request)
        local = is_loopback(self._config.host)
        if local and not identity.proven and not is_loopback(_hostname(request.headers)):
            raise Forbidden("this is told at this machine's own address alone, such as 127.0.0.1")
        return identity


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the key that a request shows (RFC 6750 §2.1), or None."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def is_from_here(request: Request) -> bool:
    """Whether the request comes from this machine, and not through a proxy on it."""
    client = request.client
    proxied = any(name in request.headers for name in FORWARDED)
    return client is not None and is_loopback(client.host) and not proxied


def _hostname(headers: Mapping[str, str]) -> str:
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:  # brackets that do not pair
        return ""
